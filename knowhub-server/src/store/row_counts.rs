//! How many rows there are of each kind.

use super::{Error, Store};

/// The tables whose rows are counted, each named as its rows are.
const COUNTED: [&str; 4] = ["experiences", "knowledge", "resources", "demand"];

impl Store {
    /// Counts the rows of each kind; takes milliseconds per million.
    pub(crate) async fn count_rows(&self) -> Result<[(&'static str, i64); COUNTED.len()], Error> {
        self.read(|db| {
            let mut counts = COUNTED.map(|kind| (kind, 0));
            for (kind, count) in &mut counts {
                *count =
                    db.query_row(&format!("SELECT count(*) FROM {kind}"), [], |row| row.get(0))?;
            }
            Ok(counts)
        })
        .await
    }
}
