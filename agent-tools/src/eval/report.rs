//! All that was measured in one run: JSON that a later run compares itself with, and a table for people.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{
    ask::Reply,
    calibration::Calibration,
    gates::Checked,
    metrics::{Ranking, Times},
    set::LeftOut,
};

/// All that was measured in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    /// What was measured, in a few words.
    pub(crate) name: String,
    /// The space of the embedder, `None` without one.
    pub(crate) embedder: Option<String>,
    /// How many questions the embedder was late for, or failed at, so that they were searched by words alone.
    pub(crate) by_words: u64,
    pub(crate) passages: u64,
    pub(crate) questions: u64,
    /// How the set's own questions were answered, everything shown.
    pub(crate) ranking: Option<Ranking>,
    /// The share of the set's own questions that returned nothing, what is judged irrelevant being held back.
    pub(crate) missed: Option<f64>,
    /// What questions returned that nothing in the set answers.
    pub(crate) foreign: Option<Foreign>,
    /// How long a search took that holds back what is judged irrelevant.
    pub(crate) search_ms: Option<Times>,
    pub(crate) pairs: Option<JoinedPairs>,
    /// How long it took until all passages could be found, in seconds.
    pub(crate) load_s: f64,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) gates: Vec<Checked>,
    /// What was fitted, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) calibration: Option<Calibration>,
}

/// What came of questions that nothing answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Foreign {
    pub(crate) questions: u64,
    /// The share of them that returned anything.
    pub(crate) answered: f64,
}

/// What came of pairs of texts that say the same, or only seem to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JoinedPairs {
    pub(crate) pairs: u64,
    /// How many say the same.
    pub(crate) same: u64,
    /// How many the hub took for the same.
    pub(crate) joined: u64,
    /// How many of those say the same.
    pub(crate) rightly: u64,
}

impl Report {
    /// Takes in how the set's own questions were answered.
    pub(crate) fn add_own(&mut self, answered: &[Reply]) {
        self.add_by_words(answered);
        let rankings: Vec<_> = answered.iter().filter_map(|one| one.ranking).collect();
        self.questions = answered.len() as u64;
        self.ranking = Some(Ranking::mean(&rankings));
        self.missed = Some(1.0 - share_answered(answered));
        self.search_ms = Some(Times::of(answered.iter().map(|one| one.took).collect()));
    }

    /// Takes in what questions returned that nothing answers.
    pub(crate) fn add_foreign(&mut self, answered: &[Reply]) {
        self.add_by_words(answered);
        let questions = answered.len() as u64;
        self.foreign = Some(Foreign { questions, answered: share_answered(answered) });
    }

    fn add_by_words(&mut self, answered: &[Reply]) {
        if self.embedder.is_some() {
            self.by_words += answered.iter().filter(|one| !one.by_vectors).count() as u64;
        }
    }
}

fn share_answered(answered: &[Reply]) -> f64 {
    share(answered.iter().filter(|one| one.returned_anything).count() as u64, answered.len() as u64)
}

/// Returns `part` of `whole`, 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// One figure of a report.
#[derive(Debug)]
pub(crate) struct Measure {
    /// As gates name it.
    pub(crate) name: &'static str,
    /// As tables and pictures head it.
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    /// `None` where a run did not measure it.
    pub(crate) value: fn(&Report) -> Option<f64>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 0 to 1, told as it is.
    Share,
    /// 0 to 1, told as percent.
    Percent,
    Milliseconds,
    Count,
}

impl Unit {
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Self::Share => format!("{value:.3}"),
            Self::Percent => format!("{:.1} %", 100.0 * value),
            Self::Milliseconds => format!("{value:.2}"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// All figures, in the order in which they are told.
pub(crate) const MEASURES: [Measure; 13] = {
    const fn measure(
        name: &'static str,
        label: &'static str,
        unit: Unit,
        value: fn(&Report) -> Option<f64>,
    ) -> Measure {
        Measure { name, label, unit, value }
    }
    [
        measure("r1", "R@1", Unit::Share, |one| Some(one.ranking?.r1)),
        measure("r5", "R@5", Unit::Share, |one| Some(one.ranking?.r5)),
        measure("r10", "R@10", Unit::Share, |one| Some(one.ranking?.r10)),
        measure("mrr", "MRR@10", Unit::Share, |one| Some(one.ranking?.mrr)),
        measure("ndcg", "nDCG@10", Unit::Share, |one| Some(one.ranking?.ndcg)),
        measure("missed", "missed", Unit::Percent, |one| one.missed),
        measure("foreign", "foreign", Unit::Percent, |one| Some(one.foreign?.answered)),
        measure("p50", "p50 ms", Unit::Milliseconds, |one| Some(one.search_ms?.p50)),
        measure("p99", "p99 ms", Unit::Milliseconds, |one| Some(one.search_ms?.p99)),
        measure("pairs", "pairs", Unit::Count, |one| Some(one.pairs?.pairs as f64)),
        measure("joined", "joined", Unit::Count, |one| Some(one.pairs?.joined as f64)),
        measure("precision", "precision", Unit::Share, |one| {
            let JoinedPairs { joined, rightly, .. } = one.pairs?;
            // Nothing joined is nothing joined wrongly.
            Some(if joined == 0 { 1.0 } else { share(rightly, joined) })
        }),
        measure("recall", "recall", Unit::Share, |one| {
            one.pairs.map(|pairs| share(pairs.rightly, pairs.same))
        }),
    ]
};

/// Returns the figures that one of the runs has.
pub(crate) fn measured(runs: &[Report]) -> impl Iterator<Item = &'static Measure> {
    MEASURES.iter().filter(|measure| runs.iter().any(|run| (measure.value)(run).is_some()))
}

/// Returns a line a run under a line of heads; names stand last, since their letters differ in width.
pub(crate) fn table(runs: &[Report]) -> String {
    let mut lines = vec![String::new(); runs.len() + 1];
    for measure in measured(runs) {
        let cell =
            |run| (measure.value)(run).map_or("–".to_owned(), |value| measure.unit.shown(value));
        let cells: Vec<_> =
            [measure.label.to_owned()].into_iter().chain(runs.iter().map(cell)).collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default();
        for (line, cell) in lines.iter_mut().zip(cells) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:>width$}  ");
        }
    }
    let names = ["run"].into_iter().chain(runs.iter().map(|run| run.name.as_str()));
    let lines = lines.into_iter().zip(names).map(|(line, name)| line + name);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;

    #[test]
    fn a_table_aligns_whatever_the_names() {
        let ranking = Ranking { r1: 0.5, r5: 0.75, r10: 1.0, mrr: 0.6251, ndcg: 0.7 };
        let search_ms = Some(Times { p50: 1.5, p99: 120.25 });
        let foreign = Some(Foreign { questions: 30, answered: 0.1 });
        let mut runs = [
            Report {
                name: "工具笔记, no embedder".into(),
                ranking: Some(ranking),
                ..Report::default()
            },
            Report {
                name: "e5".into(),
                ranking: Some(ranking),
                search_ms,
                foreign,
                ..Report::default()
            },
        ];
        runs[0].missed = Some(0.02);
        expect![[r#"
              R@1    R@5   R@10  MRR@10  nDCG@10  missed  foreign  p50 ms  p99 ms  run
            0.500  0.750  1.000   0.625    0.700   2.0 %        –       –       –  工具笔记, no embedder
            0.500  0.750  1.000   0.625    0.700       –   10.0 %    1.50  120.25  e5"#]]
        .assert_eq(&table(&runs));
    }

    #[test]
    fn questions_that_the_embedder_was_late_for_are_counted() {
        let reply = |by_vectors| Reply {
            ranking: None,
            returned_anything: true,
            took: Duration::ZERO,
            by_vectors,
            hits: Vec::new(),
        };
        let replies = [reply(true), reply(false), reply(false)];
        for (embedder, expected) in [(Some("e5".to_owned()), 4), (None, 0)] {
            let mut report = Report { embedder, ..Report::default() };
            report.add_own(&replies);
            report.add_foreign(&replies);
            assert_eq!(report.by_words, expected);
        }
    }

    #[test]
    fn pairs_have_figures_of_their_own() {
        let joined = |joined, rightly| Report {
            pairs: Some(JoinedPairs { pairs: 10, same: 4, joined, rightly }),
            ..Report::default()
        };
        let figures = |report| -> Vec<(&str, f64)> {
            let runs = [report];
            measured(&runs)
                .map(|measure| (measure.name, (measure.value)(&runs[0]).unwrap()))
                .collect()
        };
        let expected = [("pairs", 10.0), ("joined", 2.0), ("precision", 0.5), ("recall", 0.25)];
        assert_eq!(figures(joined(2, 1)), expected);
        let expected = [("pairs", 10.0), ("joined", 0.0), ("precision", 1.0), ("recall", 0.0)];
        assert_eq!(figures(joined(0, 0)), expected);
    }

    #[test]
    fn a_report_reads_what_it_wrote() {
        let mut report = Report { name: "a".into(), missed: Some(0.5), ..Report::default() };
        report.left_out.push(LeftOut { what: "b".into(), count: 1, example: "c".into() });
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
