//! How earlier versions are asked for, whatever they are versions of.

use protocol::hub::FieldFault;

use super::params::{FromParams, Paging, Params};

/// Which earlier versions are asked for.
pub(super) struct VersionParams {
    /// Only this one.
    pub(super) version: Option<i64>,
    /// Which page of them.
    pub(super) paging: Paging,
}

impl FromParams for VersionParams {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let version = params.text("version")?.filter(|text| !text.is_empty()).map(|text| {
            let version = text.parse().ok().filter(|version| *version > 0);
            version.ok_or_else(|| FieldFault::new("version", "must be a whole number from 1"))
        });
        Ok(Self { version: version.transpose()?, paging: params.paging()? })
    }
}
