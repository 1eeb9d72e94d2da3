//! Listing resources by prefix and type.

use std::sync::Arc;

use protocol::{ResourceId, hub::ContentType};

use super::{Error, Resource, Store, left_out, read, tree::below};

/// Which resources a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceFilter {
    /// Only this id and those below it.
    pub(crate) prefix: Option<ResourceId>,
    /// Only this type.
    pub(crate) content_type: Option<ContentType>,
}

const MATCHES: &str = "(?1 IS NULL OR id = ?1 OR (id >= ?2 AND id < ?3))
                       AND (?4 IS NULL OR content_type = ?4)";

/// All columns, of the body only as much as a list shows of it.
const SHORTENED: &str = "row, seq, id, title, substr(body, 1, 200) AS body, secure_body, content_type, metadata,
                         sort_order, submitted_by, authenticated_as, on_behalf_of, content_hash, version,
                         created_at, updated_at";

impl Store {
    /// Lists one page of resources by id, their bodies shortened, and counts all that match.
    pub(crate) async fn list_resource_page(
        &self,
        filter: ResourceFilter,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Resource>, u64), Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let snapshot = db.unchecked_transaction()?;
            let prefix = filter.prefix.as_ref().map(ResourceId::as_str);
            let (from, to) = prefix.map(below).unzip();
            let content_type = filter.content_type.map(ContentType::as_str);
            let bounds = (prefix, from, to, content_type);
            let total: i64 = snapshot
                .prepare_cached(&format!("SELECT count(*) FROM resources WHERE {MATCHES}"))?
                .query_row((bounds.0, &bounds.1, &bounds.2, bounds.3), |row| row.get(0))?;
            let mut statement = snapshot.prepare_cached(&format!(
                "SELECT {SHORTENED} FROM resources WHERE {MATCHES} ORDER BY id LIMIT ?5 OFFSET ?6"
            ))?;
            let rows =
                statement.query((bounds.0, &bounds.1, &bounds.2, bounds.3, limit, offset))?;
            let resources = left_out.list(&left_out::RESOURCES, rows, read)?;
            Ok((resources, total.unsigned_abs()))
        })
        .await
    }
}
