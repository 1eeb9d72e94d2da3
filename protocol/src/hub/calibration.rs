//! How sure the signals of a search make it that a record answers: data that is fitted to an embedding model.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::FieldFault;

/// A logistic of a few signals: a record is relevant when `1 / (1 + exp(-(weights · features + bias)))` reaches the threshold.
///
/// The shape of the file that `knowhub eval --fit` writes and `SEARCH_CALIBRATION` names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Calibration {
    /// The embedding space it was fitted to; `null` for searches by words alone.
    pub space: Option<String>,
    /// Names of signals.
    pub features: Vec<String>,
    /// One for each feature.
    pub weights: Vec<f64>,
    /// What is added to their sum.
    pub bias: f64,
    /// From 0 to 1: the least probability of a relevant record.
    pub threshold: f64,
    /// What it reached on questions that it was not fitted to.
    #[serde(default)]
    pub measured: Measured,
}

/// What a calibration reached on questions that it was not fitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Measured {
    /// How many questions.
    pub questions: u64,
    /// The share of questions that a record answers, and which returned nothing.
    pub missed: f64,
    /// The share of questions that no record answers, and which returned something.
    #[serde(rename = "false")]
    pub wrong: f64,
}

impl Calibration {
    /// Checks that each feature is one of `known` and has a weight, and that all numbers are usable.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong.
    pub fn check(&self, known: &[&str]) -> Result<(), FieldFault> {
        if let Some(unknown) = self.features.iter().find(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            return Err(FieldFault::new("features", format!("{unknown:?} is none of {known}")));
        }
        if self.features.is_empty() {
            return Err(FieldFault::new("features", "must name at least one signal"));
        }
        if self.weights.len() != self.features.len() {
            return Err(FieldFault::new("weights", "must be as many as the features"));
        }
        if !self.weights.iter().chain([&self.bias]).all(|number| number.is_finite()) {
            return Err(FieldFault::new("weights", "must be numbers, as must be the bias"));
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(FieldFault::new("threshold", "must be 0 to 1"));
        }
        Ok(())
    }

    /// Returns the probability that a record with these signals answers; a signal that is absent counts as 0.
    pub fn probability(&self, signal: impl Fn(&str) -> Option<f64>) -> f64 {
        let weighed = self.features.iter().zip(&self.weights);
        let sum: f64 = weighed.map(|(name, weight)| weight * signal(name).unwrap_or(0.0)).sum();
        1.0 / (1.0 + (-(sum + self.bias)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        Calibration {
            space: None,
            features: vec!["share".into(), "match".into()],
            weights: vec![2.0, 4.0],
            bias: -3.0,
            threshold: 0.5,
            measured: Measured::default(),
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let known = ["share", "match"];
        calibration().check(&known).unwrap();
        for (field, wrong) in [
            (
                "features",
                Calibration { features: vec!["share".into(), "luck".into()], ..calibration() },
            ),
            ("features", Calibration { features: vec![], weights: vec![], ..calibration() }),
            ("weights", Calibration { weights: vec![1.0], ..calibration() }),
            ("weights", Calibration { weights: vec![1.0, f64::NAN], ..calibration() }),
            ("weights", Calibration { bias: f64::INFINITY, ..calibration() }),
            ("threshold", Calibration { threshold: 1.5, ..calibration() }),
        ] {
            assert_eq!(wrong.check(&known).unwrap_err().field, field, "{wrong:?}");
        }
    }

    #[test]
    fn more_evidence_is_more_probable() {
        let probability = |share, matched| {
            calibration().probability(|name| Some(if name == "share" { share } else { matched }))
        };
        assert!((probability(0.5, 0.5) - 0.5).abs() < 1e-12);
        assert!(probability(0.5, 0.6) > 0.5 && probability(0.4, 0.5) < 0.5);
        assert!(calibration().probability(|_| None) < 0.05);
    }
}
