//! One order out of words, meaning, verdicts and age, and how sure each candidate is.

use protocol::{
    Timestamp,
    hub::{Eval, Knowledge, KnowledgeHit, Signals},
};

use super::{
    calibration::Calibration,
    relevance::Question,
};
use crate::vectors::Background;

/// How many standard deviations of cosine weigh as much as all words of the question.
///
/// Measured over five embedding spaces, a strong one, a weak one, and three that were made worse:
/// no set's order is worse than by words alone, or by vectors alone, by more than 0.01.
const DEVIATIONS: f64 = 30.0;

/// What verdicts can add to a candidate or take from it at most, as a share of its score.
const MAX_EVAL: f64 = 0.2;

/// As many verdicts as this count half of what very many of the same kind would.
const HALF_VERDICTS: f64 = 5.0;

/// How much of the weight of verdicts the score has, which anybody sets at will.
const SCORE_SHARE: f64 = 0.3;

/// What age takes from a candidate at most, as a share of its score.
const MAX_AGING: f64 = 0.05;

/// After so many days age has taken half of what it can.
const HALF_AGED_DAYS: f64 = 365.0;

/// A record that was found by words, by meaning, or by its name.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) record: Knowledge,
    /// Its last change.
    pub(super) seq: i64,
    /// BM25 of the question's words; 0 when it has none of them.
    pub(super) lexical: f64,
    /// Cosine to the question; absent without a vector.
    pub(super) vector: Option<f64>,
    /// Whether the question names it.
    pub(super) named: Named,
}

/// Whether a question names a record, by its id or by the name of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    /// It does not.
    No,
    /// Among other words.
    Within,
    /// It consists of the name.
    Whole,
}

/// Puts candidates in order, best first, each with its signals and a decision on its relevance.
pub(super) fn rank(
    candidates: Vec<Candidate>,
    question: &Question,
    background: Option<Background>,
    calibration: &Calibration,
    now: Timestamp,
) -> Vec<KnowledgeHit> {
    todo!()
}

/// Returns what verdicts make of a record, from -1 (all harmful) to 1 (all helpful); few count little.
fn weight_of_verdicts(eval: &Eval) -> f64 {
    let (helpful, harmful) = (eval.helpful as f64, eval.harmful as f64);
    let verdicts = (helpful - harmful) / (helpful + harmful + HALF_VERDICTS);
    let score = (f64::from(eval.score) - 3.0) / 2.0;
    (1.0 - SCORE_SHARE) * verdicts + SCORE_SHARE * score
}

/// Returns how far a record has aged, from 0 to 1.
fn aged(record: &Knowledge, now: Timestamp) -> f64 {
    let days = now.since(record.created_at).as_secs_f64() / 86_400.0;
    1.0 - 0.5_f64.powf(days / HALF_AGED_DAYS)
}
