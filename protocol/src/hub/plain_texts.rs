//! Which fields of a write everybody will be able to read.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value;

use super::Body;
use crate::ids::ContactId;

/// A body that writes; the hub looks through its plain texts for secrets before anything else sees them.
pub trait WriteBody: Body {
    /// Whether a delegate may write it for a contact, which its field `on_behalf_of` then names.
    const FOR_CONTACTS: bool = false;

    /// Returns every text that is stored in plain, ids of the sender's choice included: all but what is sealed.
    fn plain_texts(&self) -> PlainTexts<'_>;
}

/// Texts by the field they stand in.
#[derive(Clone, Debug, Default)]
pub struct PlainTexts<'a>(Vec<(Cow<'static, str>, &'a str)>);

impl<'a> PlainTexts<'a> {
    /// Adds the text of one field.
    #[must_use]
    pub fn text(mut self, field: impl Into<Cow<'static, str>>, text: &'a str) -> Self {
        if !text.is_empty() {
            self.0.push((field.into(), text));
        }
        self
    }

    /// Adds for whom a delegate writes.
    #[must_use]
    pub fn on_behalf_of(self, contact: Option<&'a ContactId>) -> Self {
        self.text("on_behalf_of", contact.map_or("", ContactId::as_str))
    }

    /// Adds the entries of a list, as `field[index]`.
    #[must_use]
    pub fn list(mut self, field: &str, list: &'a [String]) -> Self {
        for (index, text) in list.iter().enumerate() {
            self = self.text(format!("{field}[{index}]"), text);
        }
        self
    }

    /// Adds the names and values of a map, as `field` and `field.name`.
    #[must_use]
    pub fn map(mut self, field: &'static str, map: &'a BTreeMap<String, String>) -> Self {
        for (name, value) in map {
            self = self.text(field, name).text(format!("{field}.{name}"), value);
        }
        self
    }

    /// Adds all texts inside a JSON value, and the names of its fields.
    #[must_use]
    pub fn json(mut self, field: &str, value: &'a Value) -> Self {
        match value {
            Value::String(text) => self.text(field.to_owned(), text),
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self = self.json(&format!("{field}[{index}]"), value);
                }
                self
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self =
                        self.text(field.to_owned(), name).json(&format!("{field}.{name}"), value);
                }
                self
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self,
        }
    }

    /// Adds the texts of a part that stands under `field`; those without a field of their own become its text.
    #[must_use]
    pub fn within(mut self, field: &str, part: Self) -> Self {
        for (inner, text) in part.0 {
            let path = if inner.is_empty() { field.to_owned() } else { format!("{field}.{inner}") };
            self = self.text(path, text);
        }
        self
    }

    /// Adds the texts of another part of the same body.
    #[must_use]
    pub fn join(mut self, part: Self) -> Self {
        self.0.extend(part.0);
        self
    }

    /// Returns each field with its text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(field, text)| (field.as_ref(), *text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_text_has_its_field() {
        let list = ["a".to_owned(), String::new(), "b".to_owned()];
        let map = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let value = json!({ "x": ["y", 1, null], "z": true });
        let texts = PlainTexts::default()
            .text("empty", "")
            .list("l", &list)
            .map("m", &map)
            .json("j", &value)
            .within("w", PlainTexts::default().text("", "name").text("t", "in"));
        let texts: Vec<_> = texts.iter().collect();
        assert_eq!(
            texts,
            [
                ("l[0]", "a"),
                ("l[2]", "b"),
                ("m", "k"),
                ("m.k", "v"),
                ("j", "x"),
                ("j.x[0]", "y"),
                ("j", "z"),
                ("w", "name"),
                ("w.t", "in"),
            ]
        );
    }
}
