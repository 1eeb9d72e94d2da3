//! Query parameters, decoded by hand so that a wrong one is named.

use std::{mem, ops::RangeInclusive};

use protocol::hub::{FieldFault, MAX_LIST_ITEMS, MAX_PAGE_SIZE, MAX_QUERY_CHARS, Page};

/// How many entries a page has unless a caller says otherwise.
const DEFAULT_PAGE_SIZE: usize = 20;

/// The highest number a page may have; a higher one is refused with 422.
const MAX_PAGE: usize = 1_000_000;

/// Which part of a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paging {
    /// The page, counted from 1.
    pub(crate) page: u32,
    /// How many entries a page has.
    pub(crate) page_size: u32,
}

impl Paging {
    /// Returns how many entries stand before this page.
    pub(crate) fn offset(self) -> u32 {
        (self.page - 1) * self.page_size
    }

    /// Returns the page with these entries of a list of `total`.
    pub(crate) fn page_of<T>(self, results: Vec<T>, total: u64) -> Page<T> {
        Page { results, total, page: self.page.into(), page_size: self.page_size.into() }
    }
}

/// The parameters of a query string, in order.
pub(super) struct Params(Vec<(String, String)>);

/// What can be read from a query string.
pub(super) trait FromParams: Sized {
    /// Reads the parameters; the error names the first that is wrong.
    fn from_params(params: &Params) -> Result<Self, FieldFault>;
}

impl Params {
    /// Splits and decodes a query string: `+` is a space, `%XX` a byte; a `%` without two digits stands for itself.
    pub(super) fn parse(query: &str) -> Result<Self, FieldFault> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)
                .ok_or_else(|| FieldFault::new("query", "a parameter's name is not UTF-8"))?;
            match decode(value) {
                Some(value) => Ok((name, value)),
                None => Err(FieldFault::new(name, "must be UTF-8, percent-encoded")),
            }
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the name of each parameter.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the search text, which is required and bounded.
    pub(super) fn query_text(&self) -> Result<String, FieldFault> {
        match self.text("q")? {
            Some(q) if q.trim().is_empty() => Err(FieldFault::new("q", "must not be blank")),
            Some(q) if q.chars().count() > MAX_QUERY_CHARS => {
                Err(FieldFault::new("q", format!("longer than {MAX_QUERY_CHARS} characters")))
            }
            Some(q) => Ok(q.to_owned()),
            None => Err(FieldFault::new("q", "required: what to look for")),
        }
    }

    /// Returns a parameter that may be given once.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, FieldFault> {
        let mut values = self.all(name);
        let value = values.next();
        if values.next().is_some() {
            return Err(FieldFault::new(name, "given more than once"));
        }
        Ok(value)
    }

    /// Returns a whole number within `range`, or `default`.
    pub(super) fn number(
        &self,
        name: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, FieldFault> {
        let Some(text) = self.text(name)? else { return Ok(default) };
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            FieldFault::new(name, format!("must be a whole number from {least} to {most}"))
        })
    }

    /// Returns `true` or `false` as given, or `false`.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, FieldFault> {
        match self.text(name)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(FieldFault::new(name, "must be true or false")),
        }
    }

    /// Returns the values of a parameter that may be given several times, each a list by comma.
    ///
    /// A comma that belongs to a value is written `\,`, and a backslash before a comma `\\`.
    pub(super) fn list(&self, name: &'static str) -> Result<Vec<String>, FieldFault> {
        let values: Vec<String> = self.all(name).flat_map(split_list).collect();
        if values.len() > MAX_LIST_ITEMS {
            return Err(FieldFault::new(name, format!("more than {MAX_LIST_ITEMS} values")));
        }
        let values = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
        Ok(values.map(str::to_owned).collect())
    }

    /// Returns the values of a list whose entries are `name:value`.
    pub(super) fn pairs(&self, name: &'static str) -> Result<Vec<(String, String)>, FieldFault> {
        let pairs = self.list(name)?.into_iter().map(|pair| match pair.split_once(':') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(FieldFault::new(name, "each must be name:value")),
        });
        pairs.collect()
    }

    /// Returns which page is asked for: `page` and `page_size`.
    pub(super) fn paging(&self) -> Result<Paging, FieldFault> {
        Ok(Paging {
            page: self.number("page", 1, 1..=MAX_PAGE)? as u32,
            page_size: self.number("page_size", DEFAULT_PAGE_SIZE, 1..=MAX_PAGE_SIZE)? as u32,
        })
    }

    fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| *key == name).map(|(_, value)| value.as_str())
    }
}

/// Splits at the commas that no backslash stands before.
fn split_list(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            ',' => values.push(mem::take(&mut value)),
            '\\' => value.push(chars.next_if(|c| matches!(c, ',' | '\\')).unwrap_or('\\')),
            _ => value.push(char),
        }
    }
    values.push(value);
    values
}

fn decode(text: &str) -> Option<String> {
    unescape(&text.replace('+', " "))
}

/// Puts bytes in the place of their `%XX`; `None` when that makes no UTF-8.
pub(super) fn unescape(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(hex_byte);
        decoded.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).ok()
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = digit(*digits.first()?)? * 16 + digit(*digits.get(1)?)?;
    u8::try_from(byte).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_q(query: &str, expected: Result<&str, &str>) {
        let read = Params::parse(query).and_then(|params| params.query_text());
        match (read, expected) {
            (Ok(q), Ok(expected)) => assert_eq!(q, expected),
            (Err(fault), Err(reason)) => {
                assert_eq!((fault.field.as_str(), fault.reason.as_str()), ("q", reason));
            }
            (read, _) => panic!("{query}: {read:?}"),
        }
    }

    #[test]
    fn decodes_as_browsers_and_curl_encode() {
        check_q("q=a+b%20c%2B", Ok("a b c+"));
        check_q("q=%E8%A1%A8%E6%A0%BC", Ok("表格"));
        check_q("q=表格&limit=3", Ok("表格"));
        check_q("q=100%&&x", Ok("100%"));
        check_q("q=%zz%4", Ok("%zz%4"));
        check_q("%71=a=b", Ok("a=b"));
    }

    #[test]
    fn names_what_is_wrong() {
        check_q("", Err("required: what to look for"));
        check_q("q", Err("must not be blank"));
        check_q("q=+%09", Err("must not be blank"));
        check_q("q=a&q=b", Err("given more than once"));
        check_q("q=%ff", Err("must be UTF-8, percent-encoded"));
        check_q(
            &format!("q={}", "a".repeat(MAX_QUERY_CHARS + 1)),
            Err("longer than 4000 characters"),
        );
    }

    #[test]
    fn numbers_flags_and_lists() {
        let params =
            Params::parse("n=7&bad=x&empty=&yes=true&no=false&odd=maybe&l=a,b&l=+c+,").unwrap();
        assert_eq!(params.number("n", 1, 1..=10), Ok(7));
        assert_eq!(params.number("absent", 1, 1..=10), Ok(1));
        assert!(params.number("n", 1, 1..=5).is_err());
        assert!(params.number("bad", 1, 1..=5).is_err());
        assert!(params.number("empty", 1, 1..=5).is_err());
        assert!(params.flag("empty").is_err());
        assert_eq!(params.flag("yes"), Ok(true));
        assert_eq!(params.flag("no"), Ok(false));
        assert!(params.flag("odd").is_err());
        assert_eq!(params.list("l").unwrap(), ["a", "b", "c"]);
        for (query, expected) in [
            (r"l=a\,b,c", &["a,b", "c"][..]),
            (r"l=a\\,b", &[r"a\", "b"]),
            (r"l=C:\dir\", &[r"C:\dir\"]),
            (r"l=\,", &[","]),
            ("l=,", &[]),
            ("l=a&l=b", &["a", "b"]),
        ] {
            assert_eq!(Params::parse(query).unwrap().list("l").unwrap(), expected, "{query}");
        }
        assert!(Params::parse(&format!("l={}", "a,".repeat(101))).unwrap().list("l").is_err());
    }

    #[test]
    fn pages_and_pairs() {
        let page = |query| Params::parse(query).and_then(|params| params.paging());
        assert_eq!(page("page=3&page_size=100"), Ok(Paging { page: 3, page_size: 100 }));
        assert_eq!(page(""), Ok(Paging { page: 1, page_size: 20 }));
        for (query, field) in [
            ("page=0", "page"),
            ("page=1000001", "page"),
            ("page=-1", "page"),
            ("page_size=0", "page_size"),
            ("page_size=101", "page_size"),
            ("page_size=many", "page_size"),
        ] {
            assert_eq!(page(query).unwrap_err().field, field, "{query}");
        }
        let params = Params::parse("t=a:b:c,:&u=a").unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(params.pairs("t"), Ok(vec![pair("a", "b:c"), pair("", "")]));
        assert_eq!(params.pairs("u").unwrap_err().field, "u");
    }

    proptest! {
        #[test]
        fn never_panics(query: String) {
            let _ = Params::parse(&query).map(|params| (params.query_text(), params.pairs("t")));
        }

        #[test]
        fn any_value_can_stand_in_a_list(values in proptest::collection::vec("[^ ]+", 1..9)) {
            let values: Vec<String> = values.iter().map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty()).collect();
            let escaped: Vec<String> = values.iter()
                .map(|value| value.replace('\\', r"\\").replace(',', r"\,")).collect();
            let params = Params(vec![("l".to_owned(), escaped.join(","))]);
            prop_assert_eq!(params.list("l").unwrap(), values);
        }

        #[test]
        fn what_is_encoded_is_read_again(name: String, value: String) {
            let encoded =
                |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
            let params = Params::parse(&format!("{}={}", encoded(&name), encoded(&value)));
            prop_assert_eq!(params.unwrap().0, [(name, value)]);
        }
    }
}
