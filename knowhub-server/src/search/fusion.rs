//! One order out of words, meaning, verdicts and age, and how sure each candidate is.

use std::collections::HashSet;

use protocol::{
    Timestamp,
    hub::{Eval, Knowledge, KnowledgeHit, Signals},
};

use super::{
    calibration::Calibrations,
    relevance::{Evidence, Question},
};
use crate::{embedding::embedded_text, vectors::Background};

/// How many standard deviations of cosine weigh as much as all words of the question.
///
/// Measured over five embedding spaces, a strong one, a weak one, and three that were made worse:
/// no set's order is worse than by words alone, or by vectors alone, by more than 0.01.
const DEVIATIONS: f64 = 30.0;

/// What words weigh where a question of words with spaces finds a text of a script without, by vectors too.
///
/// One shared name is much of a short English question, and little of what a Chinese text says: counted in full,
/// English questions over Chinese passages lost 0.03 of R@1 against vectors alone. The other way round they gain.
const WORDS_ACROSS: f64 = 0.5;

/// Cosines that differ less are taken to differ so much: in a store of a few records nothing is said by it.
const MIN_DEVIATION: f64 = 0.001;

/// With how many others the nearest record is compared.
const NEIGHBORS: usize = 4;

/// Among how many of the best a match leads, however many are shown: what was fitted to calibrations looked at so many.
pub(super) const JUDGED: usize = 10;

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

impl Named {
    /// Tells whether a question, which may name things by `names`, names this record.
    pub(super) fn by(names: &HashSet<String>, question: &str, record: &Knowledge) -> Self {
        let name = record.source.name.trim().to_lowercase();
        let question = question.trim().to_lowercase();
        if question == name || question == record.id.as_str() {
            Self::Whole
        } else if names.contains(&name) || names.contains(record.id.as_str()) {
            Self::Within
        } else {
            Self::No
        }
    }
}

/// What candidates are ranked by besides themselves.
pub(super) struct Scale<'a> {
    /// What is asked.
    pub(super) question: &'a Question,
    /// What its cosine to records in general is; absent without vectors.
    pub(super) background: Option<Background>,
    /// When a record is taken for an answer.
    pub(super) calibrations: &'a Calibrations,
    /// When.
    pub(super) now: Timestamp,
}

/// Puts candidates in order, best first, each with its signals and a decision on its relevance.
pub(super) fn rank(candidates: Vec<Candidate>, scale: &Scale<'_>) -> Vec<KnowledgeHit> {
    let deviations: Vec<Option<f64>> =
        candidates.iter().map(|one| scale.deviations(one.vector?)).collect();
    let known: Vec<f64> = deviations.iter().flatten().copied().collect();
    // A fresh record, which has no vector yet, counts as near as the others on the whole.
    let usual = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let mut ranked: Vec<Ranked> = candidates
        .into_iter()
        .zip(deviations)
        .map(|(candidate, deviations)| {
            let eval = weight_of_verdicts(&candidate.record.eval);
            let evidence = scale.question.evidence_in(&embedded_text(&candidate.record));
            let is_weak = evidence.is_across && !scale.question.is_cjk() && deviations.is_some();
            let weight = if is_weak { WORDS_ACROSS } else { 1.0 };
            let by_words = weight * scale.share_of_ideal(candidate.lexical);
            let matched = by_words + deviations.unwrap_or(usual) / DEVIATIONS;
            let more = MAX_EVAL * eval - MAX_AGING * aged(&candidate.record, scale.now);
            let fused = matched + more * matched.max(0.0);
            Ranked { candidate, deviations, eval, fused, evidence }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let is_whole = |one: &Ranked| one.candidate.named == Named::Whole;
        let newer = b.candidate.seq.cmp(&a.candidate.seq);
        is_whole(b).cmp(&is_whole(a)).then(b.fused.total_cmp(&a.fused)).then(newer)
    });
    let matches: Vec<f64> = ranked.iter().take(JUDGED).map(|one| one.evidence.matched).collect();
    let lead_match = leads(&matches, 1);
    let best = matches.iter().copied().fold(0.0, f64::max);
    let cosines: Vec<f64> = ranked.iter().filter_map(|one| one.candidate.vector).collect();
    let mut lead_vector = match &cosines[..] {
        // Nothing is said by a cosine that stands alone.
        [_] => vec![0.0],
        _ => leads(&cosines, NEIGHBORS),
    }
    .into_iter();
    let judged = |(at, one): (usize, Ranked)| {
        let lead_match = lead_match.get(at).copied().unwrap_or(one.evidence.matched - best);
        let lead_vector = one.candidate.vector.and_then(|_| lead_vector.next());
        one.judged(lead_match, lead_vector, scale)
    };
    ranked.into_iter().enumerate().map(judged).collect()
}

/// A candidate in its place.
struct Ranked {
    candidate: Candidate,
    deviations: Option<f64>,
    eval: f64,
    fused: f64,
    evidence: Evidence,
}

impl Scale<'_> {
    /// Returns how many standard deviations a cosine is above that of records in general.
    fn deviations(&self, cosine: f64) -> Option<f64> {
        let mean = f64::from(self.background?.mean);
        Some((cosine - mean) / self.deviation()?)
    }

    fn deviation(&self) -> Option<f64> {
        Some(f64::from(self.background?.deviation).max(MIN_DEVIATION))
    }

    fn share_of_ideal(&self, lexical: f64) -> f64 {
        let ideal = self.question.ideal_score();
        if ideal > 0.0 { lexical / ideal } else { 0.0 }
    }
}

impl Ranked {
    /// Decides on the candidate's relevance.
    fn judged(self, lead_match: f64, lead_vector: Option<f64>, scale: &Scale<'_>) -> KnowledgeHit {
        let Self { candidate, deviations, eval, fused, evidence } = self;
        let Candidate { record, lexical, vector, named, .. } = candidate;
        let mut signals = Signals {
            lexical: (lexical > 0.0).then_some(lexical),
            share: Some(evidence.share),
            matched: Some(evidence.matched),
            lead_match: Some(lead_match),
            vector,
            lead_vector,
            deviations,
            lead_deviations: lead_vector.zip(scale.deviation()).map(|(lead, one)| lead / one),
            fused: Some(fused),
            eval: Some(eval),
            relevance: None,
        };
        let (probability, is_probable) = scale.calibrations.judge(&signals, evidence.is_across);
        signals.relevance = Some(probability);
        let relevant = named != Named::No || evidence.is_certain || is_probable;
        KnowledgeHit { knowledge: record, relevant, signals }
    }
}

/// Returns how far each value is above the mean of the best `count` others; a value without others is its own lead.
fn leads(values: &[f64], count: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let lead = |at: usize| {
        let others: Vec<f64> = order
            .iter()
            .filter(|other| **other != at)
            .take(count)
            .map(|other| values[*other])
            .collect();
        let sum: f64 = others.iter().sum();
        if others.is_empty() { values[at] } else { values[at] - sum / others.len() as f64 }
    };
    (0..values.len()).map(lead).collect()
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

#[cfg(test)]
mod tests {
    use protocol::{
        KnowledgeId,
        hub::{KnowledgeStatus, NewKnowledge},
    };

    use super::*;
    use crate::{access::Stamp, index::Frequencies, knowledge::new_record};

    fn now() -> Timestamp {
        Timestamp::from_millis(400 * 86_400_000)
    }

    /// Returns a fresh candidate without verdicts, found by nothing yet.
    fn candidate(number: u16, text: &str) -> Candidate {
        let report = NewKnowledge { task: text.into(), content: ".".into(), ..Default::default() };
        let id = KnowledgeId::new(now(), number);
        Candidate {
            record: new_record(report, Stamp::default(), id, KnowledgeStatus::Approved, now()),
            seq: number.into(),
            lexical: 0.0,
            vector: None,
            named: Named::No,
        }
    }

    /// Returns the numbers of candidates in their order, and their scores.
    fn ranked(question: &str, candidates: Vec<Candidate>) -> (Vec<String>, Vec<f64>) {
        let scale = Scale {
            question: &Question::new(question, &Frequencies::of(1_000, &[("tabl", 10)])),
            background: Some(Background { mean: 0.5, deviation: 0.1 }),
            calibrations: &Calibrations::load(None, Some("any")).unwrap(),
            now: now(),
        };
        let hits = rank(candidates, &scale);
        let names = hits.iter().map(|hit| hit.knowledge.task.clone());
        (names.collect(), hits.iter().map(|hit| hit.signals.fused.unwrap()).collect())
    }

    #[test]
    fn words_and_meaning_are_added_up() {
        let words = Candidate { lexical: 4.0, vector: Some(0.5), ..candidate(1, "words") };
        let meaning = Candidate { vector: Some(0.8), ..candidate(2, "meaning") };
        let both = Candidate { lexical: 4.0, ..meaning.clone() };
        let both = Candidate { record: candidate(3, "both").record, ..both };
        let fresh = Candidate { lexical: 4.0, ..candidate(4, "fresh") };
        let (order, scores) = ranked("table", vec![meaning, words, fresh, both]);
        assert_eq!(order, ["both", "fresh", "words", "meaning"]);
        assert!((scores[0] - scores[2] - 3.0 / DEVIATIONS).abs() < 1e-6, "three deviations");
        assert!((scores[3] - 3.0 / DEVIATIONS).abs() < 1e-6, "{scores:?}");
        assert!((scores[1] - scores[2] - 2.0 / DEVIATIONS).abs() < 1e-6, "the others' mean");
    }

    #[test]
    fn a_name_goes_before_all_and_the_newest_before_equals() {
        let whole = Candidate { named: Named::Whole, ..candidate(1, "whole") };
        let within = Candidate { named: Named::Within, lexical: 1.0, ..candidate(2, "within") };
        let early = Candidate { lexical: 2.0, ..candidate(3, "early") };
        let late = Candidate { lexical: 2.0, ..candidate(4, "late") };
        let (order, _) = ranked("table", vec![within, early, whole, late]);
        assert_eq!(order, ["whole", "late", "early", "within"]);
    }

    #[test]
    fn verdicts_and_age_move_a_record_a_little() {
        let with = |number, text: &str, helpful, harmful, days: i64| {
            let mut one = Candidate { lexical: 2.0, ..candidate(number, text) };
            one.record.eval.helpful = helpful;
            one.record.eval.harmful = harmful;
            one.record.created_at = Timestamp::from_millis(now().as_millis() - days * 86_400_000);
            one
        };
        let candidates = vec![
            with(1, "harmful", 0, 1_000_000, 0),
            with(2, "old", 0, 0, 365),
            with(3, "fresh", 0, 0, 0),
            with(4, "once", 1, 0, 0),
            with(5, "often", 1_000_000, 0, 0),
        ];
        let (order, scores) = ranked("table", candidates);
        assert_eq!(order, ["often", "once", "fresh", "old", "harmful"]);
        let share = |at: usize| scores[at] / scores[2] - 1.0;
        let most = MAX_EVAL * (1.0 - SCORE_SHARE);
        assert!((share(0) - most).abs() < 1e-3 && (share(4) + most).abs() < 1e-3, "{scores:?}");
        assert!(share(1) < most / HALF_VERDICTS, "one verdict counts little: {scores:?}");
        assert!((share(3) + MAX_AGING / 2.0).abs() < 1e-3, "half in a year: {scores:?}");
    }

    #[test]
    fn english_words_count_half_in_chinese_texts_with_a_vector() {
        let of =
            |number, text, vector| Candidate { lexical: 2.0, vector, ..candidate(number, text) };
        let (zh, en) = ("用表格工具提取数据", "extracting data with a tool");
        let score = |question, text, vector| ranked(question, vec![of(1, text, vector)]).1[0];
        let full = score("How to parse a table?", en, Some(0.5));
        assert!((score("How to parse a table?", zh, Some(0.5)) - WORDS_ACROSS * full).abs() < 1e-9);
        assert!((score("How to parse a table?", zh, None) - full).abs() < 1e-9, "words are all");
        let asked = score("怎么解析表格？", zh, Some(0.5));
        assert!((score("怎么解析表格？", en, Some(0.5)) - asked).abs() < 1e-9);
    }

    #[test]
    fn a_record_alone_leads_nothing_by_its_vector() {
        let of = |number| Candidate { vector: Some(0.75), ..candidate(number, "Chairs") };
        let calibrations = Calibrations::load(None, Some("e5")).unwrap();
        let scale = Scale {
            question: &Question::new("quantum tunnel", &Frequencies::default()),
            background: Some(Background { mean: 0.75, deviation: 0.02 }),
            calibrations: &calibrations,
            now: now(),
        };
        let alone = rank(vec![of(1)], &scale);
        assert_eq!(alone[0].signals.lead_vector, Some(0.0));
        assert!(!alone[0].relevant, "{:?}", alone[0].signals);
        assert!(rank(vec![of(1), of(2)], &scale).iter().all(|hit| !hit.relevant));
    }

    #[test]
    fn a_lead_is_over_the_best_others() {
        assert_eq!(leads(&[0.5], 4), [0.5]);
        let led = leads(&[0.9, 0.5, 0.7], 1);
        for (lead, expected) in led.iter().zip([0.2, -0.4, -0.2]) {
            assert!((lead - expected).abs() < 1e-9, "{led:?}");
        }
        assert!((leads(&[1.0, 0.4, 0.2, 0.0, 0.2, 0.2], 4)[0] - 0.75).abs() < 1e-9);
    }
}
