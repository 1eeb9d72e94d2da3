//! Both readings of one name, the stored resource of that id and the experiences of that name, as of one moment.

use std::sync::Arc;

use protocol::{ResourceId, hub::ContentLink};

use super::{Error, Resource, Store, find, tree::list_content_links};
use crate::store::{
    Experience, experiences,
    resource_names::{ResourceName, list_resource_names},
};

/// What is stored under a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// The resource of this id.
    pub(crate) resource: Option<Resource>,
    /// What all experiences of this name say together.
    pub(crate) aggregate: ResourceName,
    /// A page of them, newest first.
    pub(crate) experiences: Vec<Experience>,
    /// The stored nodes that the experiences of the page name.
    pub(crate) contents: Vec<ContentLink>,
}

impl Store {
    /// Finds what is stored under a name, with `limit` of its experiences behind the first `offset`.
    ///
    /// `None` when there is neither a resource nor an experience.
    pub(crate) async fn find_reading(
        &self,
        name: String,
        offset: u32,
        limit: u32,
    ) -> Result<Option<Reading>, Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let snapshot = db.unchecked_transaction()?;
            // What is no id names no resource.
            let id: Option<ResourceId> = name.parse().ok();
            let resource = id.map(|id| find(&snapshot, &id)).transpose()?.flatten();
            let aggregate = list_resource_names(&snapshot, vec![name.clone()])?.remove(&name);
            if resource.is_none() && aggregate.is_none() {
                return Ok(None);
            }
            let experiences = experiences::list_of(&snapshot, &name, offset, limit, &left_out)?;
            let ids = experiences.iter().map(|row| row.report.content_id.clone()).collect();
            let contents = list_content_links(&snapshot, ids)?;
            let aggregate = aggregate.unwrap_or_default();
            Ok(Some(Reading { resource, aggregate, experiences, contents }))
        })
        .await
    }
}
