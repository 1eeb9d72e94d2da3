//! Bodies of the hub's HTTP API; `docs/knowhub-api.md` tells what each call means.

mod body;
mod bounds;
mod calibration;
mod caller;
mod content;
mod demand;
mod depth;
mod embeddings;
mod experience;
mod fault;
mod knowledge;
mod metadata;
mod page;
mod plain_texts;
mod resource;
mod secret;
mod vault;
mod version;
mod whole_numbers;
mod words;

pub use body::{Body, FieldFault, check_bound, check_present};
pub(crate) use body::{as_field_fault, check_chars};
pub use bounds::{ListEntry, ResourcePrefix, StatusFilter, TagFilter, TagValue};
pub use calibration::{Calibration, Measured};
pub use caller::{Role, Whoami};
pub use content::{Content, ContentLink, NewContent};
pub use demand::{Demand, DemandKind};
pub use depth::{MAX_JSON_DEPTH, check_depth};
pub use embeddings::{EmbeddingProgress, EmbeddingStage, Embeddings};
pub use experience::{
    Experience, ExperienceCreated, ExperienceDeleted, ExperienceHit, ExperienceSearch,
    NewExperience, ResourceHit,
};
pub use fault::{ErrorBody, ErrorCode, ErrorDetail};
pub use knowledge::{
    BatchDelete, BatchFeedback, BatchResults, BatchUpdate, BatchVerify, Case, Eval, EvalStatus,
    Feedback, ItemResult, Knowledge, KnowledgeCreated, KnowledgeDeleted, KnowledgeFeedback,
    KnowledgeHit, KnowledgePatch, KnowledgeSearch, KnowledgeStatus, KnowledgeUpdated,
    MAX_BATCH_ITEMS, MAX_CASE_CHARS, MAX_FEEDBACK_CHARS, MAX_RELATION_CHARS, MAX_SLIM_CALLS, Merge,
    MergeKind, MergeUndone, NewEvaluation, NewEvaluations, NewKnowledge, NewRelationship, Origin,
    Processing, Relationship, Signals, Slim, SlimMerge, Slimmed, UndoMerge, Verified, Verify,
    VerifyAction,
};
pub use metadata::{MAX_METADATA_BYTES, Metadata};
pub use page::{MAX_PAGE_SIZE, Page};
pub use plain_texts::{PlainTexts, WriteBody};
pub use resource::{
    ContentType, NewResource, Resource, ResourceDeleted, ResourceEntry, ResourcePatch,
    ResourceReading, ResourceStored,
};
pub use secret::{
    DAMAGED_PLACEHOLDER, MAX_SECRET_BYTES, SEALED_PLACEHOLDER, SEALED_PREFIX, SecretText,
    wipe_secret,
};
pub use vault::{MAX_FAILED_IDS, Reseal, Resealed};
pub use version::EarlierVersion;
pub use whole_numbers::has_inexact;

/// The longest text field, in characters; a longer one is refused, the sender keeps it.
pub const MAX_TEXT_CHARS: usize = 100_000;

/// The longest short field (name, URL, category, owner, …), in characters; a longer one is refused.
pub const MAX_SHORT_CHARS: usize = 2_000;

/// The most entries in a list field (types, scopes, URLs, …); more are refused.
pub const MAX_LIST_ITEMS: usize = 100;

/// The most records that one knowledge search may ask for; more are refused with 422.
pub const MAX_TOP_K: usize = 20;

/// How many records a knowledge search shows unless it says otherwise.
pub const DEFAULT_TOP_K: usize = 5;

/// The lowest score of a record that a knowledge search shows unless it says otherwise.
pub const DEFAULT_MIN_SCORE: u8 = 3;

/// The most names that one search for experiences may ask for; more are refused with 422.
pub const MAX_NAMES: usize = 100;

/// How many names a search for experiences shows unless it says otherwise.
pub const DEFAULT_NAMES: usize = 10;

/// The longest search query, in characters; a longer one is refused with 422.
pub const MAX_QUERY_CHARS: usize = 4_000;
