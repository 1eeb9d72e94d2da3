//! The index's folder: whether what is there can be used, and what each commit says of its progress.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use tantivy::schema::Schema;

use super::{
    Error,
    tokenizers::{self, Grams},
};
use crate::store::Identity;

/// Raised whenever fields, tokenizers or labels change, so that older indexes are built anew.
const VERSION: u32 = 5;

/// How far an index has followed its store; stored in each commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    version: u32,
    store: String,
    /// The last change it contains.
    pub(super) mark: i64,
    /// The greatest row it contains.
    pub(super) top_row: i64,
}

impl Progress {
    pub(super) fn new(store_id: &str, mark: i64, top_row: i64) -> Self {
        Self { version: VERSION, store: store_id.to_owned(), mark, top_row }
    }

    pub(super) fn to_payload(&self) -> String {
        serde_json::to_string(self).expect("numbers and a text are plain JSON")
    }
}

/// Opens the index in `folder`, or makes an empty one in its place.
pub(super) fn open(
    folder: &Path,
    schema: &Schema,
    grams: Grams,
    store: &Identity,
) -> Result<(tantivy::Index, Progress), Error> {
    let (mut index, progress) = match open_usable(folder, schema, store) {
        Ok(usable) => usable,
        Err(reason) => {
            if store.last_seq > 0 {
                tracing::info!(folder = %folder.display(), reason, "building the search index anew");
            }
            (create(folder, schema)?, Progress::new(&store.id, 0, 0))
        }
    };
    index.set_tokenizers(tokenizers::manager(grams));
    Ok((index, progress))
}

/// Reads how far the last commit is; absent when there is none, or none of this form.
pub(super) fn progress(index: &tantivy::Index) -> Result<Option<Progress>, Error> {
    let payload = index.load_metas()?.payload;
    Ok(payload.and_then(|payload| serde_json::from_str(&payload).ok()))
}

fn open_usable(
    folder: &Path,
    schema: &Schema,
    store: &Identity,
) -> Result<(tantivy::Index, Progress), String> {
    if !folder.exists() {
        return Err("there is none".into());
    }
    let index = tantivy::Index::open_in_dir(folder).map_err(|err| err.to_string())?;
    let progress = progress(&index).map_err(|err| err.to_string())?;
    let progress = progress.ok_or("nothing readable was committed to it")?;
    if progress.version != VERSION || index.schema() != *schema {
        return Err("it is of another version".into());
    }
    if progress.store != store.id {
        return Err("it belongs to another store".into());
    }
    if progress.mark > store.last_seq {
        return Err("it is ahead of the store".into());
    }
    let damaged = index.validate_checksum().map_err(|err| err.to_string())?;
    if !damaged.is_empty() {
        return Err(format!("{} of its files are damaged", damaged.len()));
    }
    Ok((index, progress))
}

fn create(folder: &Path, schema: &Schema) -> Result<tantivy::Index, Error> {
    let unusable = |source| Error::Folder { folder: folder.to_owned(), source };
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(unusable)?;
    }
    fs::create_dir_all(folder).map_err(unusable)?;
    Ok(tantivy::Index::create_in_dir(folder, schema.clone())?)
}
