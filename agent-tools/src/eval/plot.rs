//! Runs side by side as a picture: bars of every figure between 0 and 1, as SVG.
//!
//! A library would bring fonts and back ends along; rectangles and words need neither.

use std::fmt::Write as _;

use super::report::{Report, Unit, measured};

const BAR: f64 = 30.0;
const GAP: f64 = 28.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 24.0;
const HEIGHT: f64 = 240.0;
const LINE: f64 = 20.0;

/// The narrowest picture, so that names have room.
const MIN_WIDTH: f64 = 520.0;

/// Colors that stay apart for those who see few of them; a further run begins anew.
const COLORS: [&str; 7] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"];

/// Returns the picture of these runs.
pub(crate) fn svg(runs: &[Report]) -> String {
    let measures: Vec<_> = measured(runs)
        .filter(|measure| matches!(measure.unit, Unit::Share | Unit::Percent))
        .collect();
    let group = BAR * runs.len() as f64 + GAP;
    let width = (LEFT + group * measures.len() as f64 + GAP).max(MIN_WIDTH);
    let (bottom, legend) = (TOP + HEIGHT, TOP + HEIGHT + 2.0 * LINE);
    let height = legend + LINE * runs.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for tenth in (0..=10).step_by(2) {
        let share = f64::from(tenth) / 10.0;
        let y = bottom - HEIGHT * share;
        let end = width - GAP / 2.0;
        line(&mut svg, &format!("<path d=\"M{LEFT} {y}H{end}\" stroke=\"#dddddd\"/>"));
        text(&mut svg, (LEFT - 6.0, y + 4.0), "end", &format!("{share:.1}"));
    }
    for (nth, measure) in measures.iter().enumerate() {
        let start = LEFT + GAP / 2.0 + group * nth as f64;
        for (index, run) in runs.iter().enumerate() {
            let Some(value) = (measure.value)(run) else { continue };
            let (x, bar) = (start + BAR * index as f64, HEIGHT * value.clamp(0.0, 1.0));
            let (y, inner) = (bottom - bar, BAR - 2.0);
            let color = color(index);
            line(
                &mut svg,
                &format!(
                    "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{inner}\" height=\"{bar:.1}\" fill=\"{color}\"/>"
                ),
            );
            // Two digits fit the bar's width.
            text(&mut svg, (x + inner / 2.0, y - 4.0), "middle", &format!("{value:.2}"));
        }
        let middle = start + BAR * runs.len() as f64 / 2.0;
        text(&mut svg, (middle, bottom + LINE), "middle", measure.label);
    }
    for (index, run) in runs.iter().enumerate() {
        let (y, color) = (legend + LINE * index as f64, color(index));
        line(
            &mut svg,
            &format!(
                "<rect x=\"{LEFT}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{color}\"/>",
                y - 9.0
            ),
        );
        text(&mut svg, (LEFT + 16.0, y), "start", &run.name);
    }
    svg + "</svg>\n"
}

fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

fn line(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = escaped(words);
    // Writing to a string cannot fail.
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

/// Returns a text as it may stand in XML, which knows no control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{metrics::Ranking, report::Foreign};

    fn run(name: &str, r1: f64) -> Report {
        let ranking = Some(Ranking { r1, ..Ranking::default() });
        Report { name: name.into(), ranking, ..Report::default() }
    }

    /// Checks that elements nest and attributes are quoted; returns how many elements of each name there are.
    fn well_formed(svg: &str) -> std::collections::BTreeMap<String, usize> {
        let (mut open, mut count) = (Vec::new(), std::collections::BTreeMap::new());
        for part in svg.split('<').skip(1) {
            let (tag, after) = part.split_once('>').expect("a tag ends");
            assert!(
                !after.contains('>') && !after.contains(char::is_control)
                    || after.trim().is_empty(),
                "{after:?}"
            );
            assert!(after.split('&').skip(1).all(|it| {
                it.split_once(';').is_some_and(|(name, _)| ["lt", "gt", "amp"].contains(&name))
            }));
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
                continue;
            }
            let name = tag.split(' ').next().unwrap().to_owned();
            *count.entry(name.clone()).or_default() += 1;
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert_eq!(open, Vec::<String>::new());
        count
    }

    #[test]
    fn every_run_has_a_bar_of_every_figure_it_measured() {
        let foreign = Some(Foreign { questions: 1, answered: 0.5 });
        let runs = [Report { foreign, ..run("工具 <&> \u{1}", 1.0) }, run("b", 2.0)];
        let count = well_formed(&svg(&runs));
        // The ground, 5 figures of two runs, 1 of one, and a mark a run.
        assert_eq!(count["rect"], 1 + 5 * 2 + 1 + 2);
        assert_eq!(count["svg"], 1);
    }

    #[test]
    fn nothing_measured_is_a_picture_too() {
        assert_eq!(well_formed(&svg(&[]))["rect"], 1);
        assert!(!svg(&[run("a", f64::MAX)]).contains("inf"));
    }
}
