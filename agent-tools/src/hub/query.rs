//! What to search and list, and the parameters that say so.

use protocol::{ResourceId, hub::ContentType};

/// What to search knowledge for; an absent field leaves the hub's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeQuery {
    /// The question.
    pub q: String,
    /// How many records at most, 1 to 20.
    pub top_k: Option<usize>,
    /// The least score of a record, 1 to 5.
    pub min_score: Option<u8>,
    /// Kinds of knowledge that a record must all be of.
    pub types: Vec<String>,
    /// Owners, one of which a record must have.
    pub owner: Vec<String>,
    /// Scopes, one of which a record must hold for.
    pub scopes: Vec<String>,
    /// Labels that a record must all have, as `name:value`.
    pub tags: Vec<String>,
    /// Also returns what is judged irrelevant.
    pub all: bool,
}

impl KnowledgeQuery {
    /// Returns a query for `q` with the hub's defaults.
    pub fn new(q: impl Into<String>) -> Self {
        Self { q: q.into(), ..Self::default() }
    }

    /// Returns the query's parameters as the hub reads them.
    pub(super) fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = vec![("q", self.q.clone())];
        params.extend(self.top_k.map(|top_k| ("top_k", top_k.to_string())));
        params.extend(self.min_score.map(|score| ("min_score", score.to_string())));
        let lists = [
            ("types", &self.types),
            ("owner", &self.owner),
            ("scopes", &self.scopes),
            ("tags", &self.tags),
        ];
        for (name, list) in lists {
            if !list.is_empty() {
                let entries: Vec<_> = list.iter().map(|entry| escaped(entry)).collect();
                params.push((name, entries.join(",")));
            }
        }
        if self.all {
            params.push(("all", "true".to_owned()));
        }
        params
    }
}

/// Returns an entry of a list as the hub reads it back: its commas do not end it.
fn escaped(entry: &str) -> String {
    entry.replace('\\', "\\\\").replace(',', "\\,")
}

/// Which page of a list; an absent field leaves the hub's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// Counted from 1.
    pub page: Option<u64>,
    /// How many entries a page has, 1 to 100.
    pub page_size: Option<u64>,
}

impl Paging {
    pub(super) fn params(self) -> Vec<(&'static str, String)> {
        let params = [("page", self.page), ("page_size", self.page_size)];
        params.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))).collect()
    }
}

/// Which resources to list; an absent field leaves the hub's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceQuery {
    /// What to search for; absent lists all, by id.
    pub q: Option<String>,
    /// Only this id and those below it.
    pub prefix: Option<ResourceId>,
    /// Only this type.
    pub content_type: Option<ContentType>,
    /// Which page.
    pub paging: Paging,
}

impl ResourceQuery {
    pub(super) fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = self.paging.params();
        params.extend(self.q.clone().map(|q| ("q", q)));
        params.extend(self.prefix.as_ref().map(|prefix| ("prefix", prefix.to_string())));
        params.extend(self.content_type.map(|kind| ("content_type", kind.as_str().to_owned())));
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_is_sent() {
        assert_eq!(KnowledgeQuery::new("表格").params(), [("q", "表格".to_owned())]);
        let query = KnowledgeQuery {
            top_k: Some(3),
            types: vec!["tool".into(), "plan".into()],
            owner: vec![r"a,b\c".into(), "d".into()],
            all: true,
            ..KnowledgeQuery::new("x")
        };
        let params = query.params();
        let text: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(text, ["q=x", "top_k=3", "types=tool,plan", r"owner=a\,b\\c,d", "all=true"]);
    }
}
