//! Earlier versions, whatever they are versions of: how they are asked for, and listed.

use protocol::hub::{EarlierVersion, FieldFault, Page, Role};
use serde::de::DeserializeOwned;

use super::{
    Error, Handles,
    params::{FromParams, Paging, Params},
};
use crate::{
    access::Principal,
    store::{RecordKind, VersionFilter},
};

/// Which earlier versions are asked for.
pub(super) struct VersionParams {
    /// Only this one.
    version: Option<i64>,
    /// Which page of them.
    paging: Paging,
}

/// Lists one page of what a record said before, as far as the caller may see it; `None` when there is no such record.
pub(super) async fn list<T: DeserializeOwned + Send + 'static>(
    handles: &Handles,
    kind: RecordKind,
    id: String,
    by: &Principal,
    VersionParams { version, paging }: VersionParams,
) -> Result<Option<Page<EarlierVersion<T>>>, Error> {
    let filter = VersionFilter { kind, id, version, with_deleted: by.role >= Role::Admin };
    let listed = handles.store.list_versions(filter, paging.offset(), paging.page_size).await?;
    Ok(listed.map(|(versions, total)| paging.page_of(versions, total)))
}

impl FromParams for VersionParams {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let version = params.text("version")?.map(|text| {
            let version = text.parse().ok().filter(|version| *version > 0);
            version.ok_or_else(|| FieldFault::new("version", "must be a whole number from 1"))
        });
        Ok(Self { version: version.transpose()?, paging: params.paging()? })
    }
}
