//! Logistic regression on a few features, by Newton's method.
//!
//! Fifty lines of our own: the libraries that have it bring linear algebra for thousands of features along.

/// How many steps are made at most; a handful is enough where it converges.
const MAX_STEPS: usize = 50;

/// A smaller step than this changes nothing that matters.
const SMALLEST_STEP: f64 = 1e-9;

/// One case to learn from.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) features: Vec<f64>,
    pub(crate) is_positive: bool,
}

/// How much each feature, and nothing at all, speaks for a positive case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) weights: Vec<f64>,
    pub(crate) bias: f64,
}

impl Model {
    /// Fits a model to cases of which all have as many features and both kinds occur; both kinds weigh alike.
    ///
    /// Features are standardized, and held by an L2 penalty as strong as one case.
    pub(crate) fn fit(cases: &[Case]) -> Self {
        let scale_of = scales(cases);
        let count =
            |is_positive| cases.iter().filter(|case| case.is_positive == is_positive).count();
        let half = cases.len() as f64 / 2.0;
        let [positive, negative] = [true, false].map(|kind| half / count(kind).max(1) as f64);
        let rows: Vec<(Vec<f64>, f64, f64)> = cases
            .iter()
            .map(|case| {
                let pairs = case.features.iter().zip(&scale_of);
                let mut row: Vec<_> = pairs.map(|(x, (mean, scale))| (x - mean) / scale).collect();
                row.push(1.0);
                let (goal, weight) =
                    if case.is_positive { (1.0, positive) } else { (0.0, negative) };
                (row, goal, weight)
            })
            .collect();
        let mut weights = vec![0.0; scale_of.len() + 1];
        for _ in 0..MAX_STEPS {
            let step = newton_step(&rows, &weights);
            weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight += step);
            if step.iter().all(|step| step.abs() < SMALLEST_STEP) {
                break;
            }
        }
        let mut bias = weights.pop().unwrap_or_default();
        for (weight, (mean, scale)) in weights.iter_mut().zip(&scale_of) {
            *weight /= scale;
            bias -= *weight * mean;
        }
        Self { weights, bias }
    }

    /// Returns the probability that a case is positive.
    pub(crate) fn probability(&self, features: &[f64]) -> f64 {
        logistic(dot(&self.weights, features) + self.bias)
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the mean and the standard deviation of each feature; 1 where it never varies.
fn scales(cases: &[Case]) -> Vec<(f64, f64)> {
    let width = cases.first().map_or(0, |case| case.features.len());
    let scale = |index: usize| {
        let count = cases.len() as f64;
        let values = || cases.iter().map(|case| case.features[index]);
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
    };
    (0..width).map(scale).collect()
}

/// Returns the step from these weights towards the best; the last, the bias, is not held by the penalty.
fn newton_step(rows: &[(Vec<f64>, f64, f64)], weights: &[f64]) -> Vec<f64> {
    let width = weights.len();
    let mut gradient: Vec<_> = weights.iter().map(|weight| -weight).collect();
    gradient[width - 1] = 0.0;
    let mut curvature = vec![vec![0.0; width]; width];
    for (index, line) in curvature.iter_mut().enumerate() {
        // A trace for the bias too, so that the system has one solution.
        line[index] = if index + 1 < width { 1.0 } else { 1e-9 };
    }
    for (row, goal, weight) in rows {
        let p = logistic(dot(weights, row));
        for i in 0..width {
            gradient[i] += weight * (goal - p) * row[i];
            for j in 0..width {
                curvature[i][j] += weight * p * (1.0 - p) * row[i] * row[j];
            }
        }
    }
    solved(curvature, gradient)
}

/// Solves a system of linear equations that is positive definite, by elimination.
fn solved(mut lines: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let width = right.len();
    for i in 0..width {
        let pivot = lines[i].clone();
        for k in i + 1..width {
            let factor = lines[k][i] / pivot[i];
            lines[k].iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            right[k] -= factor * right[i];
        }
    }
    for i in (0..width).rev() {
        let known = dot(&lines[i][i + 1..], &right[i + 1..]);
        right[i] = (right[i] - known) / lines[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(features: &[f64], is_positive: bool) -> Case {
        Case { features: features.to_vec(), is_positive }
    }

    #[test]
    fn systems_are_solved() {
        let solution = solved(vec![vec![4.0, 1.0], vec![1.0, 3.0]], vec![1.0, 2.0]);
        // By hand: 1/11 and 7/11.
        assert!(
            (solution[0] - 1.0 / 11.0).abs() < 1e-12 && (solution[1] - 7.0 / 11.0).abs() < 1e-12
        );
    }

    #[test]
    fn at_the_best_the_gradient_is_zero() {
        let cases: Vec<_> = (0..200u32)
            .map(|i| {
                let (x, noise) = (f64::from(i % 20), f64::from(i * 7 % 11));
                case(&[x, noise, 3.0], x + noise > 12.0 + f64::from(i * 5 % 7))
            })
            .collect();
        let model = Model::fit(&cases);
        assert!(model.weights[0] > 0.0 && model.weights[1] > 0.0, "{model:?}");
        assert!(model.weights[2].abs() < 1e-9, "what never varies tells nothing: {model:?}");
        // Of the bias, which no penalty holds: both kinds together err as much to either side.
        let positive = cases.iter().filter(|case| case.is_positive).count() as f64;
        let errors: f64 = cases
            .iter()
            .map(|case| {
                let p = model.probability(&case.features);
                if case.is_positive { (1.0 - p) / positive } else { -p / (200.0 - positive) }
            })
            .sum();
        assert!(errors.abs() < 1e-6, "{errors}");
    }

    #[test]
    fn what_can_be_parted_whole_stays_finite() {
        let cases =
            [case(&[0.0], false), case(&[1.0], false), case(&[8.0], true), case(&[9.0], true)];
        let model = Model::fit(&cases);
        assert!(model.probability(&[9.0]) > 0.7 && model.probability(&[0.0]) < 0.3, "{model:?}");
        assert!(model.bias.is_finite() && model.weights[0].is_finite());
        assert!((model.probability(&[4.5]) - 0.5).abs() < 1e-6);
    }
}
