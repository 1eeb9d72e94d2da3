//! Reads the files that commands take: one JSON object, or one a line.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context as _, anyhow};
use protocol::{hub::FieldFault, librarian::Items};
use serde_json::Value;

use super::Failure;

/// The largest file that is read, in bytes; a larger one is refused.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a file, or stdin where the path is `-`.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "stdin".into() } else { path.to_string_lossy() };
    let mut text = String::new();
    let source: io::Result<Box<dyn Read>> = if is_stdin {
        Ok(Box::new(io::stdin()))
    } else {
        fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>)
    };
    source
        .and_then(|source| source.take(MAX_FILE_BYTES + 1).read_to_string(&mut text))
        .map_err(Failure::cannot("read", &format!("{name} as UTF-8 text")))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::input(anyhow!("{name} is larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}

/// Reads one JSON value a line, each with its line number from 1; blank lines are skipped.
pub(super) fn lines(text: &str) -> Result<Vec<(usize, Value)>, Failure> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let value = serde_json::from_str(line)
                .with_context(|| format!("line {} is not JSON", index + 1))
                .map_err(Failure::input)?;
            Ok((index + 1, value))
        })
        .collect()
}

/// Reads a file with one body of this `kind` a line, of which there must be one at least.
///
/// Each is read from its line's value, one after the other.
pub(super) fn lines_of<T>(
    file: &Path,
    kind: &str,
    mut read_body: impl FnMut(&Value) -> Result<T, FieldFault>,
) -> Result<Vec<T>, Failure> {
    let lines = lines(&read(file)?)?;
    if lines.is_empty() {
        return Err(Failure::input(anyhow!("{} holds no {kind}", file.display())));
    }
    let body = |(line, value): &(usize, Value)| {
        read_body(value).map_err(|fault| Failure::input(anyhow!("line {line}: {fault}")))
    };
    lines.iter().map(body).collect()
}

/// Reads an upload: an object with `knowledge`, `resources` or `tools`, or one knowledge body a line.
pub(super) fn upload(text: &str) -> Result<Items, Failure> {
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text)
        && ["knowledge", "resources", "tools"].iter().any(|list| fields.contains_key(*list))
    {
        let items = serde_json::from_value(Value::Object(fields));
        let wanted = "expected {\"knowledge\": […], \"resources\": […], \"tools\": […]}";
        return items.context(wanted).map_err(Failure::input);
    }
    let knowledge = lines(text)?.into_iter().map(|(_, item)| item).collect();
    Ok(Items { knowledge, ..Items::default() })
}

/// Cuts items into uploads of at most `max_items` items and about `max_bytes` bytes each.
///
/// A single item that is larger than that is an upload of its own.
pub(super) fn split(items: Items, max_items: usize, max_bytes: usize) -> Vec<Items> {
    let mut parts = Vec::new();
    let mut part = Items::default();
    let mut bytes = 0;
    let mut add = |item: Value, list: fn(&mut Items) -> &mut Vec<Value>| {
        let size = item.to_string().len();
        if !part.is_empty() && (part.len() == max_items || bytes + size > max_bytes) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        list(&mut part).push(item);
        bytes += size;
    };
    items.knowledge.into_iter().for_each(|item| add(item, |part| &mut part.knowledge));
    items.resources.into_iter().for_each(|item| add(item, |part| &mut part.resources));
    items.tools.into_iter().for_each(|item| add(item, |part| &mut part.tools));
    if !part.is_empty() || parts.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_upload_is_an_object_or_lines() {
        let lines = "{\"task\": \"a\"}\n\n{\"task\": \"b\"}\n";
        assert_eq!(upload(lines).unwrap().knowledge, [json!({"task": "a"}), json!({"task": "b"})]);
        let object = "{\n\"tools\": [{\"name\": \"x\"}]\n}";
        assert_eq!(upload(object).unwrap().tools, [json!({"name": "x"})]);
        assert!(upload("").unwrap().is_empty());
        let fault = upload("{\"task\": \"a\"}\n{").unwrap_err();
        assert_eq!(fault.error.to_string(), "line 2 is not JSON");
        assert_eq!(fault.exit_code(), 1);
        assert!(upload("{\"knowledge\": 7}").is_err());
    }

    #[test]
    fn a_large_upload_goes_in_parts() {
        let item = json!({"task": "x".repeat(20)});
        let all = Items { knowledge: vec![item.clone(); 5], tools: vec![item], ..Items::default() };
        let sizes = |max_items, max_bytes| {
            split(all.clone(), max_items, max_bytes).iter().map(Items::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(4, 1000), [4, 2]);
        assert_eq!(sizes(100, 70), [2, 2, 2]);
        assert_eq!(sizes(100, 1), [1; 6]);
        assert_eq!(split(Items::default(), 1, 1), [Items::default()]);
    }
}
