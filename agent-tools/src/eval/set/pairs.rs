//! Pairs of texts that say the same, or only seem to: tab-separated, in the layout of PAWS.

use super::{Fault, File, LeftOut, Tally};

/// The columns that are read; others may stand beside them.
const COLUMNS: [&str; 3] = ["sentence1", "sentence2", "label"];

/// Pairs of texts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) first: String,
    pub(crate) second: String,
    /// They say the same.
    pub(crate) is_same: bool,
}

impl Pairs {
    /// Reads a file whose first line names the columns.
    pub(crate) fn read(file: &File) -> Result<Self, Fault> {
        let mut lines = file.text.lines().enumerate();
        let head: Vec<_> = lines.next().map_or("", |(_, line)| line).split('\t').collect();
        let place = |name: &&str| head.iter().position(|column| column.trim() == *name);
        let [Some(first), Some(second), Some(label)] = COLUMNS.each_ref().map(place) else {
            let what = "expected the columns sentence1, sentence2 and label, separated by tabs";
            return Err(file.fault_at(1, what));
        };
        let mut pairs = Vec::new();
        let mut left_out = Tally::default();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<_> = line.split('\t').map(str::trim).collect();
            if cells.len() != head.len() {
                let what = format!("has {} columns: expected {}", cells.len(), head.len());
                return Err(file.fault_at(index + 1, what));
            }
            let is_same = match cells[label] {
                "0" => false,
                "1" => true,
                _ => return Err(file.fault_at(index + 1, "expected the label 0 or 1")),
            };
            let (first, second) = (cells[first].to_owned(), cells[second].to_owned());
            let shown = format!("line {}", index + 1);
            if first.is_empty() || second.is_empty() {
                left_out.add("pairs of which one text says nothing", &shown);
            } else if first == second && !is_same {
                // Whatever a hub does with them tells nothing of the hub.
                left_out.add("pairs labeled as different whose texts are the same", &shown);
            } else {
                pairs.push(Pair { first, second, is_same });
            }
        }
        if pairs.is_empty() {
            return Err(file.fault("holds no pair"));
        }
        Ok(Self { pairs, left_out: left_out.told() })
    }
}
