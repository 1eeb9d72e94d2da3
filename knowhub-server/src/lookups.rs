//! What is noted of every search and of every id that leads nowhere: in the log, in the metrics, in the demand.

use std::sync::Arc;

use protocol::{Timestamp, hub::DemandKind};

use crate::{demand::Demand, metrics::Metrics, secrets};

/// The longest query in the log, in characters; of a longer one the rest is left out.
const MAX_LOGGED_CHARS: usize = 200;

/// What the log has of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SearchLog {
    /// Its text, with likely secrets cut out, at most 200 characters.
    Redacted,
    /// Its length alone.
    Length,
}

/// Takes notes; clones share them.
#[derive(Clone)]
pub(crate) struct Lookups {
    /// What the log has of a query.
    pub(crate) log: SearchLog,
    /// Where searches are counted.
    pub(crate) metrics: Arc<Metrics>,
    /// Where misses are remembered.
    pub(crate) demand: Demand,
}

impl Lookups {
    /// Notes a search, with how many results it found and how many were held back as irrelevant.
    pub(crate) fn searched(&self, kind: DemandKind, query: &str, found: usize, withheld: u64) {
        let redacted = secrets::redact(query);
        let shown = match self.log {
            SearchLog::Redacted => beginning(&redacted),
            SearchLog::Length => "",
        };
        tracing::info!(
            target: "knowhub_server::search_log",
            kind = kind.as_str(),
            query = shown,
            query_chars = query.chars().count(),
            found,
            withheld,
            "searched"
        );
        self.metrics.searched(kind.as_str(), found, withheld);
        if found == 0 {
            self.demand.missed_search(kind, &redacted, Timestamp::now());
        } else {
            self.demand.found_search(kind, &redacted);
        }
    }

    /// Notes that there is nothing under an id or name; one that looks like a secret is not remembered.
    pub(crate) fn missing(&self, kind: DemandKind, id: &str) {
        if secrets::find(id).is_none() {
            self.demand.missed_id(kind, id, Timestamp::now());
        }
    }
}

/// Returns the beginning of a text, [`MAX_LOGGED_CHARS`] long.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_LOGGED_CHARS);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_is_cut_between_characters() {
        assert_eq!(beginning("表格"), "表格");
        assert_eq!(beginning(&"长".repeat(300)), "长".repeat(MAX_LOGGED_CHARS));
    }
}
