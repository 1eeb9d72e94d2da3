//! Sealing stored secrets anew after a change of keys.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    PlainTexts, WriteBody,
    body::{Body, FieldFault, check_bound},
};
use crate::ids::ResourceId;

/// How many ids of resources with secrets that do not open are told; further ones are only counted.
pub const MAX_FAILED_IDS: usize = 100;

/// Body of `POST /api/reseal`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Reseal {
    /// Only secrets of this org; all orgs when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub org: Option<String>,
}

impl Body for Reseal {
    fn check(&self) -> Result<(), FieldFault> {
        self.org.as_ref().map_or(Ok(()), |org| check_bound("org", org))
    }
}

impl WriteBody for Reseal {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
    }
}

/// Answer to `POST /api/reseal`; earlier versions are counted as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resealed {
    /// How many secrets were sealed anew with their org's first key.
    pub resealed: u64,
    /// How many were sealed with it already.
    pub unchanged: u64,
    /// How many open with no key that the hub has; they stay as they are.
    pub failed: u64,
    /// The resources these belong to, at most 100.
    pub failed_ids: Vec<ResourceId>,
}
