//! The index's fields.

use tantivy::{
    TantivyDocument, Term,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
    },
};

use super::{
    Doc,
    tokenizers::{GRAMS, WORDS},
};
use crate::text::is_cjk;

/// Column of the row's number.
pub(super) const ROW: &str = "row";

/// Column of the change the row was indexed under.
pub(super) const SEQ: &str = "seq";

/// Column of what the row belongs to.
pub(super) const GROUP: &str = "group";

/// The fields of every document.
pub(super) struct Fields {
    pub(super) schema: Schema,
    pub(super) row: Field,
    seq: Field,
    group: Field,
    /// Tokens with their counts, for ranking.
    pub(super) words: Field,
    /// Grams, for substrings and for queries of one CJK character.
    pub(super) grams: Field,
    /// Labels, for filters.
    pub(super) labels: Field,
}

/// Tells whether a token is a single CJK character, which is looked up among the grams.
pub(super) fn is_character(token: &str) -> bool {
    let mut characters = token.chars();
    characters.next().is_some_and(is_cjk) && characters.next().is_none()
}

impl Fields {
    pub(super) fn new() -> Self {
        let text = |tokenizer, option, has_lengths| {
            TextOptions::default().set_indexing_options(
                TextFieldIndexing::default()
                    .set_tokenizer(tokenizer)
                    .set_index_option(option)
                    .set_fieldnorms(has_lengths),
            )
        };
        let mut schema = Schema::builder();
        let row = schema.add_i64_field(ROW, FAST | INDEXED);
        let seq = schema.add_i64_field(SEQ, FAST);
        let group = schema.add_u64_field(GROUP, FAST);
        let words = schema.add_text_field("words", text(WORDS, IndexRecordOption::WithFreqs, true));
        let grams = schema.add_text_field("grams", text(GRAMS, IndexRecordOption::Basic, false));
        let labels = schema.add_text_field("labels", STRING);
        Self { schema: schema.build(), row, seq, group, words, grams, labels }
    }

    /// Returns the term under which a token of a query is looked up.
    pub(super) fn token_term(&self, token: &str) -> Term {
        let field = if is_character(token) { self.grams } else { self.words };
        Term::from_field_text(field, token)
    }

    pub(super) fn document(&self, doc: &Doc) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_i64(self.row, doc.row);
        document.add_i64(self.seq, doc.seq);
        if let Some(group) = doc.group {
            document.add_u64(self.group, group);
        }
        for text in &doc.texts {
            document.add_text(self.words, text);
            document.add_text(self.grams, text);
        }
        for label in &doc.labels {
            document.add_text(self.labels, label);
        }
        document
    }
}
