//! What a ranking is worth, and how long searches took.

use std::{iter::Sum, ops::Add, time::Duration};

use serde::{Deserialize, Serialize};

/// How many hits of a question count.
pub(crate) const DEPTH: usize = 10;

/// What the ranking of one question is worth, or of many on average; each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ranking {
    /// The share of its answers that stand first; of a question with one answer, whether that is found.
    pub(crate) r1: f64,
    /// The same among the first 5.
    pub(crate) r5: f64,
    /// The same among the first 10.
    pub(crate) r10: f64,
    /// One divided by the place of the first answer, 0 where none is among the first 10.
    pub(crate) mrr: f64,
    /// Gains, each divided by the logarithm of its place plus one, as a share of the best order's; the first 10.
    pub(crate) ndcg: f64,
}

impl Ranking {
    /// Values one ranking, given what each hit gains, best first and 0 for no answer, and what each answer would gain.
    pub(crate) fn of(hits: &[u32], answers: &[u32]) -> Self {
        let hits = &hits[..hits.len().min(DEPTH)];
        let found = |depth| hits.iter().take(depth).filter(|gain| **gain > 0).count() as f64;
        let recall = |depth| found(depth) / answers.len().max(1) as f64;
        let first = hits.iter().position(|gain| *gain > 0);
        let mut best = answers.to_vec();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best.truncate(DEPTH);
        let ideal = discounted(&best);
        Self {
            r1: recall(1),
            r5: recall(5),
            r10: recall(10),
            mrr: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
            ndcg: if ideal > 0.0 { discounted(hits) / ideal } else { 0.0 },
        }
    }

    /// Returns the mean over many questions; zeros over none.
    pub(crate) fn mean(rankings: &[Self]) -> Self {
        let count = rankings.len().max(1) as f64;
        let Self { r1, r5, r10, mrr, ndcg } = rankings.iter().copied().sum();
        let [r1, r5, r10, mrr, ndcg] = [r1, r5, r10, mrr, ndcg].map(|sum| sum / count);
        Self { r1, r5, r10, mrr, ndcg }
    }
}

impl Add for Ranking {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            r1: self.r1 + other.r1,
            r5: self.r5 + other.r5,
            r10: self.r10 + other.r10,
            mrr: self.mrr + other.mrr,
            ndcg: self.ndcg + other.ndcg,
        }
    }
}

impl Sum for Ranking {
    fn sum<I: Iterator<Item = Self>>(rankings: I) -> Self {
        rankings.fold(Self::default(), Add::add)
    }
}

fn discounted(gains: &[u32]) -> f64 {
    let gain = |(index, gain): (usize, &u32)| f64::from(*gain) / (index as f64 + 2.0).log2();
    gains.iter().enumerate().map(gain).sum()
}

/// How long one search took, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Half of them took no longer.
    pub(crate) p50: f64,
    /// 99 of 100 took no longer.
    pub(crate) p99: f64,
}

impl Times {
    /// Returns the nearest ranks; zeros of none.
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hits: &[u32], answers: &[u32], expected: [f64; 5]) {
        let Ranking { r1, r5, r10, mrr, ndcg } = Ranking::of(hits, answers);
        for (value, expected) in [r1, r5, r10, mrr, ndcg].into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-4, "{value} is not {expected} of {hits:?}");
        }
    }

    #[test]
    fn rankings_are_valued_as_by_hand() {
        check(&[1], &[1], [1.0; 5]);
        check(&[], &[1], [0.0; 5]);
        // 1 / log2(4)
        check(&[0, 0, 1], &[1], [0.0, 1.0, 1.0, 1.0 / 3.0, 0.5]);
        // 1 / log2(8)
        check(&[0, 0, 0, 0, 0, 0, 1], &[1], [0.0, 0.0, 1.0, 1.0 / 7.0, 1.0 / 3.0]);
        // Beyond the tenth nothing counts.
        check(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], &[1], [0.0; 5]);
        // (1 + 1 / log2(4)) / (1 + 1 / log2(3) + 1 / log2(4))
        check(&[1, 0, 1], &[1, 1, 1], [1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 1.0, 0.70392]);
        // (2 + 3 / log2(3)) / (3 + 2 / log2(3))
        check(&[2, 3], &[3, 2], [0.5, 1.0, 1.0, 1.0, 0.91341]);
    }

    #[test]
    fn the_best_order_is_worth_one() {
        for answers in [vec![1], vec![4, 1, 3], vec![1; 12], (1..=30).rev().collect()] {
            let mut hits = answers.clone();
            hits.sort_unstable_by(|a, b| b.cmp(a));
            let ranking = Ranking::of(&hits, &answers);
            assert!((ranking.ndcg - 1.0).abs() < 1e-12 && (ranking.mrr - 1.0).abs() < 1e-12);
            assert!(ranking.r1 <= ranking.r5 && ranking.r5 <= ranking.r10);
        }
    }

    #[test]
    fn means_and_times() {
        let [all, none] = [Ranking::of(&[1], &[1]), Ranking::of(&[], &[1])];
        let mean = Ranking::mean(&[all, none]);
        assert!((mean.r10 - 0.5).abs() < 1e-12 && (mean.mrr - 0.5).abs() < 1e-12);
        assert_eq!(Ranking::mean(&[]), Ranking::default());
        let times = Times::of((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!(times, Times { p50: 100.0, p99: 198.0 });
        assert_eq!(Times::of(Vec::new()), Times::default());
    }
}
