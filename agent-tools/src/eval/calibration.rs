//! Fits what decides on relevance to the embedder at hand, and measures it on what it was not fitted to.

use std::collections::BTreeMap;

pub(crate) use protocol::hub::{Calibration, Measured};

use super::{
    Error,
    ask::Reply,
    load,
    logistic::{Case, Model},
};
use crate::hub;

/// How many hits of a foreign question are learned from; those below are much like these.
const FOREIGN_HITS: usize = 3;

/// How many cases of each kind there must be on the half that is fitted to.
const MIN_CASES: usize = 20;

/// A question's hits, with what they should be taken for.
#[derive(Clone, Copy)]
struct Question<'a> {
    reply: &'a Reply,
    /// Which half it belongs to.
    is_held_out: bool,
}

/// Returns the signals by which a hub decides on relevance.
pub(crate) async fn features(client: &hub::Client) -> Result<Vec<String>, Error> {
    let found = client.find_calibration().await;
    Ok(found.map_err(load::failed("asking for the calibration's features"))?.features)
}

/// Fits a calibration on one half of own and foreign questions, and measures it on the other.
///
/// Own questions are parted by passage, so that no passage is on both sides. The threshold is the highest one at which
/// the share `missed` of the own questions on the first half returns nothing.
///
/// # Errors
///
/// Says what there is too little of.
pub(crate) fn fit(
    own: &[(usize, Reply)],
    foreign: &[Reply],
    features: Vec<String>,
    missed: f64,
) -> Result<Calibration, String> {
    // Neighbors among passages are often of one article: halves take turns by two.
    let half = |index: usize| index % 4 >= 2;
    let own: Vec<_> = own
        .iter()
        .map(|(passage, reply)| Question { reply, is_held_out: half(*passage) })
        .collect();
    let foreign: Vec<_> = foreign
        .iter()
        .enumerate()
        .map(|(index, reply)| Question { reply, is_held_out: half(index) })
        .collect();
    check_features(&features, &own)?;
    let model = Model::fit(&cases(&own, &foreign, &features)?);

    let side = |questions: &[Question<'_>], is_held_out| -> Vec<f64> {
        let of_side = questions.iter().filter(|one| one.is_held_out == is_held_out);
        of_side.map(|one| best(&model, &features, one.reply)).collect()
    };
    let threshold = threshold(side(&own, false), missed);
    let (own, foreign) = (side(&own, true), side(&foreign, true));
    let returns = |best: &[f64]| {
        best.iter().filter(|p| **p >= threshold).count() as f64 / best.len().max(1) as f64
    };
    let measured = Measured {
        questions: (own.len() + foreign.len()) as u64,
        missed: 1.0 - returns(&own),
        wrong: returns(&foreign),
    };
    let Model { weights, bias } = model;
    Ok(Calibration { space: None, features, weights, bias, threshold, measured })
}

fn check_features(features: &[String], own: &[Question<'_>]) -> Result<(), String> {
    let is_there = |name: &String| {
        own.iter().flat_map(|one| &one.reply.hits).any(|hit| hit.signals.contains_key(name))
    };
    match features.iter().find(|name| !is_there(name)) {
        Some(name) => Err(format!("the hub's results carry no signal {name}")),
        None => Ok(()),
    }
}

/// Returns the cases of the half that is fitted to: answers that were found, and the first hits of foreign questions.
fn cases(
    own: &[Question<'_>],
    foreign: &[Question<'_>],
    features: &[String],
) -> Result<Vec<Case>, String> {
    let hits = |questions: &[Question<'_>], is_positive: bool| -> Vec<Case> {
        let fitted = questions.iter().filter(|one| !one.is_held_out);
        let wanted = fitted.flat_map(|one| {
            let depth = if is_positive { one.reply.hits.len() } else { FOREIGN_HITS };
            one.reply.hits.iter().take(depth).filter(move |hit| hit.is_answer == is_positive)
        });
        wanted.map(|hit| Case { features: values(&hit.signals, features), is_positive }).collect()
    };
    let (positive, negative) = (hits(own, true), hits(foreign, false));
    if positive.len() < MIN_CASES || negative.len() < MIN_CASES {
        return Err(format!(
            "{} answers and {} results of foreign questions on the first half are too few to fit to: expected {MIN_CASES} \
             of each at least, and hundreds to be of use",
            positive.len(),
            negative.len()
        ));
    }
    Ok([positive, negative].concat())
}

fn values(signals: &BTreeMap<String, f64>, features: &[String]) -> Vec<f64> {
    features.iter().map(|name| signals.get(name).copied().unwrap_or(0.0)).collect()
}

/// Returns the highest probability of a question's hits; nothing is less than any threshold.
fn best(model: &Model, features: &[String], reply: &Reply) -> f64 {
    let of_hits = reply.hits.iter().map(|hit| model.probability(&values(&hit.signals, features)));
    of_hits.fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the highest threshold below which no more than this share of the questions stays.
fn threshold(mut best: Vec<f64>, missed: f64) -> f64 {
    best.sort_unstable_by(f64::total_cmp);
    let allowed = (missed * best.len() as f64).floor() as usize;
    best.get(allowed).copied().unwrap_or(1.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::eval::ask::Hit;

    fn reply(hits: &[(f64, f64, bool)]) -> Reply {
        let hit = |(share, vector, is_answer): &(f64, f64, bool)| Hit {
            signals: [("share".to_owned(), *share), ("vector".to_owned(), *vector)].into(),
            is_answer: *is_answer,
        };
        let hits = hits.iter().map(hit).collect();
        Reply {
            ranking: None,
            returned_anything: true,
            took: Duration::ZERO,
            by_vectors: true,
            hits,
        }
    }

    /// 200 own and 200 foreign questions, of which one in fifty own ones looks foreign.
    fn questions() -> (Vec<(usize, Reply)>, Vec<Reply>) {
        let noise = |i: usize| (i * 37 % 100) as f64 / 1000.0;
        let own = (0..200).map(|i| {
            let share = if i % 50 == 0 { 0.1 } else { 0.7 };
            (i, reply(&[(0.2, 0.1, false), (share + noise(i), 0.8 + noise(i + 1), true)]))
        });
        let foreign = (0..200).map(|i| reply(&[(0.2 + noise(i), 0.3 + noise(i + 3), false)]));
        (own.collect(), foreign.collect())
    }

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_can_be_told_apart_is() {
        let (own, foreign) = questions();
        let fitted = fit(&own, &foreign, named(&["share", "vector"]), 0.02).unwrap();
        assert_eq!(fitted.measured.questions, 200);
        assert!(fitted.measured.missed <= 0.05 && fitted.measured.wrong < 1e-9, "{fitted:?}");
        assert!(fitted.weights.iter().all(|weight| *weight > 0.0));
        let text = serde_json::to_value(&fitted).unwrap();
        assert_eq!(text["measured"]["false"], 0.0);
        assert_eq!(serde_json::from_value::<Calibration>(text).unwrap(), fitted);
    }

    #[test]
    fn the_features_are_those_that_are_named() {
        let (own, foreign) = questions();
        let fitted = fit(&own, &foreign, named(&["vector"]), 0.02).unwrap();
        assert_eq!(fitted.weights.len(), 1);
        let fault = fit(&own, &foreign, named(&["lead"]), 0.02).unwrap_err();
        assert_eq!(fault, "the hub's results carry no signal lead");
        let fault = fit(&own, &foreign[..10], named(&["share"]), 0.02).unwrap_err();
        assert!(fault.contains("are too few to fit to"), "{fault}");
    }

    #[test]
    fn a_threshold_misses_no_more_than_it_may() {
        let best = || (1..=100).map(|i| f64::from(i) / 100.0).collect::<Vec<_>>();
        for (missed, expected) in [(0.0, 0.01), (0.02, 0.03), (0.5, 0.51), (1.0, 1.0)] {
            assert!((threshold(best(), missed) - expected).abs() < 1e-12, "{missed}");
        }
        assert!(
            threshold(vec![f64::NEG_INFINITY; 9], 0.0).abs() < 1e-12,
            "no hits are no threshold"
        );
    }
}
