//! What a verdict changes in a record.

use protocol::{
    Timestamp,
    hub::{Case, Eval, EvalStatus, Knowledge, KnowledgeFeedback},
};
use serde_json::{Value, json};

/// The most cases a history holds; of more the oldest are let go, while the counters still count them.
const MAX_HISTORY: usize = 20;

/// Who judges, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Author {
    /// The principal's name.
    pub(crate) name: String,
    /// The time of the request.
    pub(crate) now: Timestamp,
}

impl Author {
    /// Returns the name that the author claims, or the principal's where none is claimed.
    pub(crate) fn claimed(&self, claimed: String) -> String {
        if claimed.trim().is_empty() { self.name.clone() } else { claimed }
    }
}

/// Takes in what one user found; what it should say instead is not in here.
pub(crate) fn take_feedback(record: &mut Knowledge, feedback: &KnowledgeFeedback, author: &Author) {
    for (verdict, case) in [
        (EvalStatus::Helpful, &feedback.add_helpful_case),
        (EvalStatus::Harmful, &feedback.add_harmful_case),
    ] {
        if let Some(case) = case {
            take_verdict(&mut record.eval, verdict, case, author);
        }
    }
    if let Some(score) = feedback.update_score {
        record.eval.score = score;
    }
}

/// Counts a verdict; one that helped or did harm goes into the history as well.
pub(crate) fn take_verdict(eval: &mut Eval, verdict: EvalStatus, case: &Case, author: &Author) {
    let (count, history) = match verdict {
        EvalStatus::Helpful => (&mut eval.helpful, Some(&mut eval.helpful_history)),
        EvalStatus::Harmful => (&mut eval.harmful, Some(&mut eval.harmful_history)),
        EvalStatus::Irrelevant => (&mut eval.irrelevant, None),
        EvalStatus::Unused => (&mut eval.unused, None),
        EvalStatus::Neutral => (&mut eval.neutral, None),
    };
    *count = count.saturating_add(1);
    if let Some(history) = history {
        remember(history, json!({ "case": case, "by": author.name, "at": author.now }));
    }
    eval.confidence = confidence(eval.helpful, eval.harmful);
}

/// Takes back a helpful case, whether or not the history still has it.
pub(super) fn take_back_helpful(eval: &mut Eval, is_it: impl Fn(&Value) -> bool) {
    eval.helpful = eval.helpful.saturating_sub(1);
    eval.helpful_history.retain(|told| !is_it(&told["case"]));
    eval.confidence = confidence(eval.helpful, eval.harmful);
}

fn remember(history: &mut Vec<Value>, case: Value) {
    history.push(case);
    let surplus = history.len().saturating_sub(MAX_HISTORY);
    history.drain(..surplus);
}

/// Returns the share of helpful verdicts, as if there had been one of each kind before the first.
fn confidence(helpful: u64, harmful: u64) -> f64 {
    (helpful as f64 + 1.0) / (helpful as f64 + harmful as f64 + 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn author() -> Author {
        Author { name: "ann".into(), now: Timestamp::from_millis(0) }
    }

    fn case(text: &str) -> Case {
        Case::Text(text.into())
    }

    #[test]
    fn a_verdict_counts_and_the_newest_cases_stay() {
        let mut eval = Eval::default();
        for index in 0..25 {
            take_verdict(&mut eval, EvalStatus::Helpful, &case(&index.to_string()), &author());
        }
        take_verdict(&mut eval, EvalStatus::Harmful, &case("no"), &author());
        for verdict in [EvalStatus::Irrelevant, EvalStatus::Unused, EvalStatus::Neutral] {
            take_verdict(&mut eval, verdict, &case("so what"), &author());
        }
        assert_eq!((eval.helpful, eval.harmful), (25, 1));
        assert_eq!((eval.irrelevant, eval.unused, eval.neutral), (1, 1, 1));
        assert_eq!(eval.helpful_history.len(), MAX_HISTORY);
        assert_eq!(eval.helpful_history[0]["case"], "5");
        let newest = json!({ "case": "24", "by": "ann", "at": "1970-01-01T00:00:00.000Z" });
        assert_eq!(eval.helpful_history[19], newest);
        assert_eq!(eval.harmful_history.len(), 1);
        assert!((eval.confidence - 26.0 / 28.0).abs() < 1e-9);
    }

    #[test]
    fn a_record_nobody_judged_has_the_default_confidence() {
        assert!((confidence(0, 0) - Eval::default().confidence).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn counters_never_overflow(helpful: u64, harmful: u64) {
            let mut eval = Eval { helpful, harmful, ..Eval::default() };
            take_verdict(&mut eval, EvalStatus::Helpful, &case("x"), &author());
            take_verdict(&mut eval, EvalStatus::Harmful, &case("x"), &author());
            prop_assert!(eval.helpful >= helpful && eval.harmful >= harmful);
            prop_assert!((0.0..=1.0).contains(&eval.confidence));
        }
    }
}
