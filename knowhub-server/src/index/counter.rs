//! Counting the tokens of a question in a text, as the index counts them in a row.

use super::{
    Doc, Grams,
    entry::{Entry, Sought},
};

/// Tokens, prepared to be counted in many texts.
pub(crate) struct Counter {
    sought: Vec<Sought>,
}

/// What was counted in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// How often each token stands there; of a single CJK character, whether it does.
    pub(crate) of_tokens: Vec<u32>,
    /// How many tokens the text has.
    pub(crate) length: u32,
}

impl Counter {
    /// Prepares these tokens.
    pub(crate) fn new<'t>(tokens: impl IntoIterator<Item = &'t String>) -> Self {
        Self { sought: tokens.into_iter().map(|token| Sought::new(token)).collect() }
    }

    /// Counts them in a text.
    pub(crate) fn count(&self, text: String) -> Counts {
        let (labels, texts) = (Vec::new(), vec![text]);
        let doc = Doc { row: 0, seq: 0, group: None, texts, labels };
        let entry = Entry::new(doc, Grams::Characters);
        let of_tokens = self.sought.iter().map(|token| entry.count(token)).collect();
        Counts { of_tokens, length: entry.length_of_words() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_as_the_index_counts_them() {
        let tokens = ["tabl", "表格", "盘", "é"].map(str::to_owned);
        let count = |text: &str| Counter::new(&tokens).count(text.to_owned());
        let plain = count("Tables, 表格 table. C盘盘");
        assert_eq!(plain, Counts { of_tokens: vec![2, 1, 1, 0], length: 5 });
        let other = count("tableﬁ É é 表格");
        assert_eq!(other, Counts { of_tokens: vec![0, 1, 0, 2], length: 4 });
    }
}
