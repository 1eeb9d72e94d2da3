//! What a person reads of a measuring run.

use crate::{
    cli::outcome::{BAD, GOOD, STRONG, printable},
    eval::{
        calibration::Measured,
        report::{Report, table},
    },
};

/// Returns what a person reads of this run, which comes first, and of earlier ones.
pub(super) fn text(runs: &[Report]) -> String {
    let run = &runs[0];
    let load = format!("stored in {:.1} s", run.load_s);
    let what = match run.pairs {
        Some(pairs) => format!("{} pairs, {} of them the same, {load}", pairs.pairs, pairs.same),
        None => format!("{} questions over {} passages, {load}", run.questions, run.passages),
    };
    let foreign = run.foreign.map(|foreign| format!("; {} foreign questions", foreign.questions));
    let table = table(runs);
    let (heads, figures) = table.split_once('\n').unwrap_or((&table, ""));
    let mut lines = vec![what + &foreign.unwrap_or_default(), String::new()];
    lines.push(format!("{STRONG}{heads}{STRONG:#}\n{}", printable(figures)));
    if run.by_words > 0 {
        lines.push(format!(
            "\n{} questions were searched by words alone, since the embedding model was late or failed: \
             these figures are not the embedder's",
            run.by_words
        ));
    }
    if !run.left_out.is_empty() || !run.gates.is_empty() || run.calibration.is_some() {
        lines.push(String::new());
    }
    lines.extend(run.left_out.iter().map(|one| format!("left out: {}", printable(&one.told()))));
    lines.extend(run.calibration.iter().map(|one| {
        let Measured { questions, missed, wrong } = one.measured;
        format!(
            "calibration of {}: threshold {:.3}; on {questions} questions that it was not fitted to, {:.1} % of the \
             set's own return nothing, {:.1} % of the foreign ones something",
            one.features.join(", "),
            one.threshold,
            100.0 * missed,
            100.0 * wrong
        )
    }));
    lines.extend(run.gates.iter().map(|gate| {
        let (style, word) = if gate.holds { (GOOD, "holds") } else { (BAD, "fails") };
        format!("{style}{word}{style:#}  {}: {:.4}", gate.gate, gate.value)
    }));
    lines.join("\n")
}
