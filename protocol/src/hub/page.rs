//! One page of a list.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most entries of one page; more are refused with 422.
pub const MAX_PAGE_SIZE: usize = 100;

/// One page of a list, and how long the whole list is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The entries of this page; empty beyond the last page.
    pub results: Vec<T>,
    /// How many entries all pages have together.
    pub total: u64,
    /// Which page this is, from 1.
    pub page: u64,
    /// How many entries a full page has.
    pub page_size: u64,
}
