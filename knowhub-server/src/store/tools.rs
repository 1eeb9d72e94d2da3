//! Tools and the knowledge that speaks of them, linked both ways; tools are resources `tools/{category}/{slug}`.
//!
//! A record names its tools in `resource_ids`; a tool's metadata lists, under `knowledge_ids`, the records that name it
//! and that searches find. The list follows the records in their own transactions.

use std::collections::BTreeSet;

use protocol::{
    ResourceId,
    hub::{Knowledge, MAX_LIST_ITEMS},
};
use rusqlite::Connection;
use serde_json::Value;

use super::{Change, Error, Resource, Store, resources};
use crate::knowledge::{Author, is_searchable};

const PREFIX: &str = "tools/";

/// Where a tool's metadata lists what speaks of it.
const KNOWLEDGE_IDS: &str = "knowledge_ids";

/// How many records a tool lists; further ones name the tool and are not listed by it.
const MAX_LISTED: usize = MAX_LIST_ITEMS;

impl Store {
    /// Lists the tools of which one of these words, in lower case, is the slug or the title.
    pub(crate) async fn list_tools_named(
        &self,
        words: Vec<String>,
    ) -> Result<Vec<Resource>, Error> {
        self.read(move |db| {
            let mut ids = BTreeSet::new();
            for word in words {
                ids.extend(find_by_name(db, &word)?);
            }
            let ids = ids.iter().filter_map(|id| id.parse::<ResourceId>().ok());
            let tools = ids.map(|id| resources::find(db, &id));
            Ok(tools.filter_map(Result::transpose).collect::<Result<_, _>>()?)
        })
        .await
    }
}

/// Tells whether an id is that of a tool.
pub(super) fn is_tool(id: &str) -> bool {
    id.strip_prefix(PREFIX).is_some_and(|rest| rest.contains('/'))
}

/// Has a record name these tools, and those whose slug or title is the name of its source, as far as there is room.
pub(super) fn name_tools(
    db: &Connection,
    record: &mut Knowledge,
    named: &[ResourceId],
) -> rusqlite::Result<()> {
    let by_rule = find_by_name(db, record.source.name.trim())?;
    for id in by_rule.into_iter().chain(named.iter().map(ToString::to_string)) {
        if record.resource_ids.len() < MAX_LIST_ITEMS && !record.resource_ids.contains(&id) {
            record.resource_ids.push(id);
        }
    }
    Ok(())
}

/// Finds the tools of this slug or title, whatever the case of ASCII letters.
fn find_by_name(db: &Connection, name: &str) -> rusqlite::Result<BTreeSet<String>> {
    if name.is_empty() {
        return Ok(BTreeSet::new());
    }
    let name = name.to_ascii_lowercase();
    let mut found = BTreeSet::new();
    // As the indexes of these two have them.
    for condition in ["lower(substr(id, 7 + instr(substr(id, 7), '/'))) = ?1", "lower(title) = ?1"]
    {
        let mut statement = db.prepare_cached(&format!(
            "SELECT id FROM resources WHERE id > 'tools/' AND id < 'tools0' AND {condition} LIMIT 10"
        ))?;
        let ids = statement.query_map([&name], |row| row.get::<_, String>(0))?;
        found.extend(ids.collect::<Result<Vec<_>, _>>()?.into_iter().filter(|id| is_tool(id)));
    }
    Ok(found)
}

/// Brings the lists of tools after a record that was made, changed or deleted.
pub(super) fn follow_record(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: Option<&Knowledge>,
    after: Option<&Knowledge>,
    author: &Author,
) -> Result<(), Error> {
    let Some(id) = before.or(after).map(|record| record.id.as_str()) else { return Ok(()) };
    let (old, new) = (tools_of(before), tools_of(after));
    for gone in old.difference(&new) {
        edit_list(db, changes, gone, author, |list| list.retain(|one| one != id))?;
    }
    for tool in new.difference(&old) {
        edit_list(db, changes, tool, author, |list| {
            if list.len() < MAX_LISTED && !list.iter().any(|one| one == id) {
                list.push(Value::from(id));
            }
        })?;
    }
    Ok(())
}

/// Returns the tools that a record names, if searches find it.
fn tools_of(record: Option<&Knowledge>) -> BTreeSet<&str> {
    let found = record.filter(|record| is_searchable(record));
    let ids = found.into_iter().flat_map(|record| &record.resource_ids);
    ids.map(String::as_str).filter(|id| is_tool(id)).collect()
}

/// Edits the list of a tool; one that is not here, or whose metadata has no room or its own use of the key, stays as it is.
fn edit_list(
    db: &Connection,
    changes: &mut Vec<Change>,
    tool: &str,
    author: &Author,
    edit: impl FnOnce(&mut Vec<Value>),
) -> Result<(), Error> {
    let Ok(id) = tool.parse::<ResourceId>() else { return Ok(()) };
    resources::update_metadata(db, changes, &id, author, |metadata| {
        let mut list = match metadata.0.get(KNOWLEDGE_IDS) {
            None => Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(_) => return,
        };
        edit(&mut list);
        if list.is_empty() {
            metadata.0.remove(KNOWLEDGE_IDS);
        } else {
            metadata.0.insert(KNOWLEDGE_IDS.to_owned(), Value::Array(list));
        }
    })
}
