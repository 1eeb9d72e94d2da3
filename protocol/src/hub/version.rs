//! What a record said before.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Timestamp;

/// What a record said before it was changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EarlierVersion<T> {
    /// When it was changed or deleted.
    pub replaced_at: Timestamp,
    /// Whose token did that.
    pub replaced_by: String,
    /// The record as it was.
    pub record: T,
}
