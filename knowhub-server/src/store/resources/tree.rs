//! The way through content nodes: what stands above, below and beside one.

use std::rc::Rc;

use protocol::{ResourceId, hub::ContentLink};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use super::{Error, Resource, Store, find};
use crate::store::columns::unreadable;

/// How many nodes below one are told; of more, the last ones are left out, and only counted.
const MAX_CHILDREN: u32 = 1_000;

/// A resource and its place in the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) resource: Resource,
    /// Its root, where that is another one and stored.
    pub(crate) toc: Option<ContentLink>,
    /// All below it, at most [`MAX_CHILDREN`].
    pub(crate) children: Vec<ContentLink>,
    /// How many are below it.
    pub(crate) children_count: u64,
    /// Its neighbors in its root's list.
    pub(crate) prev: Option<ContentLink>,
    pub(crate) next: Option<ContentLink>,
}

/// Returns the id's first segment.
pub(super) fn root(id: &ResourceId) -> &str {
    id.as_str().split('/').next().unwrap_or_default()
}

/// Returns the half-open range of ids below `id`, which begin with it and `/`.
pub(in crate::store) fn below(id: &str) -> (String, String) {
    // `0` is the character after `/`.
    (format!("{id}/"), format!("{id}0"))
}

impl Store {
    /// Finds a resource together with its neighbors.
    pub(crate) async fn find_node(&self, id: ResourceId) -> Result<Option<Node>, Error> {
        self.read(move |db| {
            let snapshot = db.unchecked_transaction()?;
            let Some(resource) = find(&snapshot, &id)? else { return Ok(None) };
            let root = root(&id);
            let is_root = root == id.as_str();
            let (mut toc, mut prev, mut next) = (None, None, None);
            if !is_root {
                toc = links(&snapshot, "SELECT id, title FROM resources WHERE id = ?1", [root])?
                    .pop();
                prev = neighbor(&snapshot, &resource, "<", "DESC")?;
                next = neighbor(&snapshot, &resource, ">", "ASC")?;
            }
            let (children, children_count) = children(&snapshot, &id)?;
            Ok(Some(Node { resource, toc, children, children_count, prev, next }))
        })
        .await
    }
}

/// Lists those of these ids that are stored, with their titles, by id.
pub(super) fn list_content_links(
    db: &Connection,
    ids: Vec<String>,
) -> Result<Vec<ContentLink>, Error> {
    let ids: Rc<Vec<Value>> = Rc::new(ids.into_iter().map(Value::from).collect());
    links(db, "SELECT id, title FROM resources WHERE id IN rarray(?1) ORDER BY id", [ids])
}

fn children(db: &Connection, id: &ResourceId) -> Result<(Vec<ContentLink>, u64), Error> {
    let (from, to) = below(id.as_str());
    let sql = "SELECT id, title FROM resources WHERE id >= ?1 AND id < ?2
               ORDER BY sort_order, id LIMIT ?3";
    let children = links(db, sql, (&from, &to, MAX_CHILDREN))?;
    if children.len() < MAX_CHILDREN as usize {
        let count = children.len() as u64;
        return Ok((children, count));
    }
    let count: i64 = db
        .prepare_cached("SELECT count(*) FROM resources WHERE id >= ?1 AND id < ?2")?
        .query_row((&from, &to), |row| row.get(0))?;
    Ok((children, count.unsigned_abs()))
}

/// Finds the nearest node on one side in the list of the root, in which the root itself does not stand.
fn neighbor(
    db: &Connection,
    of: &Resource,
    side: &str,
    order: &str,
) -> Result<Option<ContentLink>, Error> {
    let sql = format!(
        "SELECT id, title FROM resources
         WHERE root = ?1 AND id <> ?1 AND (sort_order, id) {side} (?2, ?3)
         ORDER BY sort_order {order}, id {order} LIMIT 1"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let place = (root(&of.id), of.sort_order, of.id.as_str());
    Ok(statement.query_row(place, link).optional()?)
}

fn links(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<ContentLink>, Error> {
    let mut statement = db.prepare_cached(sql)?;
    Ok(statement.query_map(params, link)?.collect::<Result<_, _>>()?)
}

fn link(row: &Row<'_>) -> rusqlite::Result<ContentLink> {
    let id: String = row.get("id")?;
    Ok(ContentLink { id: id.try_into().map_err(unreadable)?, title: row.get("title")? })
}
