//! The engine's tokenizers, made of `text`'s functions.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};

use crate::text::{Folded, characters, gram_at, tokens};

/// Name of the tokenizer for ranking.
pub(super) const WORDS: &str = "words";

/// Name of the tokenizer for grams.
pub(super) const GRAMS: &str = "grams";

/// Which grams an index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grams {
    /// One at each place, so that substrings are found.
    Substrings,
    /// CJK characters alone, so that a query of one character finds something.
    Characters,
}

/// Returns the tokenizers of an index with such grams.
pub(super) fn manager(grams: Grams) -> TokenizerManager {
    // The engine's own tokenizers serve labels.
    let manager = TokenizerManager::default();
    manager.register(WORDS, Words);
    match grams {
        Grams::Substrings => manager.register(GRAMS, Substrings),
        Grams::Characters => manager.register(GRAMS, Characters),
    }
    manager
}

#[derive(Clone)]
struct Words;

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<std::vec::IntoIter<String>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Stream { token: Token::default(), texts: tokens(text).into_iter() }
    }
}

#[derive(Clone)]
struct Characters;

impl Tokenizer for Characters {
    type TokenStream<'a> = Stream<std::vec::IntoIter<String>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        let characters: Vec<String> = characters(text).map(String::from).collect();
        Stream { token: Token::default(), texts: characters.into_iter() }
    }
}

/// Serves texts one by one, at positions that count up.
struct Stream<I> {
    token: Token,
    texts: I,
}

impl<I: Iterator<Item = String>> TokenStream for Stream<I> {
    fn advance(&mut self) -> bool {
        match self.texts.next() {
            Some(text) => {
                self.token.text = text;
                self.token.position = self.token.position.wrapping_add(1);
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[derive(Clone)]
struct Substrings;

impl Tokenizer for Substrings {
    type TokenStream<'a> = SubstringStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        SubstringStream { token: Token::default(), text: Folded::new(text), start: 0 }
    }
}

/// Serves the grams of a text without holding them all, since a long text has hundreds of thousands.
struct SubstringStream {
    token: Token,
    text: Folded,
    /// Where the next gram begins, in bytes.
    start: usize,
}

impl TokenStream for SubstringStream {
    fn advance(&mut self) -> bool {
        let text = self.text.as_str();
        while let Some(first) = text[self.start..].chars().next() {
            let gram = gram_at(text, self.start);
            self.start += first.len_utf8();
            if let Some(gram) = gram {
                self.token.text.clear();
                self.token.text.push_str(gram);
                self.token.position = self.token.position.wrapping_add(1);
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut tokenizer: impl Tokenizer, text: &str, expected: &[&str]) {
        let mut stream = tokenizer.token_stream(text);
        let mut texts = Vec::new();
        stream.process(&mut |token| texts.push(token.text.clone()));
        assert_eq!(texts, expected);
    }

    #[test]
    fn serve_what_the_text_functions_say() {
        check(Words, "提取 Tables", &["提取", "tabl"]);
        check(Characters, "提C取", &["提", "取"]);
        check(Substrings, "Abcd 表格1", &["abc", "bcd", "cd", "d", "表", "格", "1"]);
        check(Substrings, "", &[]);
    }
}
