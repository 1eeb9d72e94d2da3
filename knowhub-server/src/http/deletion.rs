//! How a deletion is asked for, whatever is deleted.

use protocol::hub::{FieldFault, check_bound};

use super::params::{FromParams, Params};

/// What a `DELETE` is told.
pub(super) struct DeletionParams {
    /// Why; kept with the tombstone.
    pub(super) reason: String,
    /// Earlier versions go as well.
    pub(super) erase: bool,
}

impl FromParams for DeletionParams {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let reason = params.text("reason")?.unwrap_or_default().to_owned();
        check_bound("reason", &reason)?;
        Ok(Self { reason, erase: params.flag("erase")? })
    }
}
