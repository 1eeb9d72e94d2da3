//! Bounds of the entries of lists and maps, for the OpenAPI schema; the bodies themselves hold plain strings.

use utoipa::ToSchema;

/// An entry of a list, such as a type, a scope or a URL.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 2_000, pattern = r"[^\s\x85]")]
#[expect(dead_code, reason = "only its derived schema is used")]
pub struct ListEntry(String);

/// The value of a tag.
#[derive(ToSchema)]
#[schema(max_length = 2_000)]
#[expect(dead_code, reason = "only its derived schema is used")]
pub struct TagValue(String);

/// A tag that a list is filtered by; an empty one filters nothing.
#[derive(ToSchema)]
#[schema(pattern = r"^\s*$|^[^,:\\]*:[^,\\]*$")]
#[expect(dead_code, reason = "only its derived schema is used")]
pub struct TagFilter(String);

/// A resource id with those below it; all when it is empty.
#[derive(ToSchema)]
#[schema(
    max_length = 513,
    pattern = r"^((?!\.{1,2}(/|$))[^/\s\[\]\\\x00-\x1f\x7f-\x9f]+(/(?!\.{1,2}(/|$))[^/\s\[\]\\\x00-\x1f\x7f-\x9f]+)*/?)?$"
)]
#[expect(dead_code, reason = "only its derived schema is used")]
pub struct ResourcePrefix(String);

/// A status that a list is filtered by; an empty one filters nothing.
#[derive(ToSchema)]
#[schema(
    pattern = r"^\s*(pending|processing|dedup_passed|analyzing|approved|rejected|checked)?\s*$"
)]
#[expect(dead_code, reason = "only its derived schema is used")]
pub struct StatusFilter(String);
