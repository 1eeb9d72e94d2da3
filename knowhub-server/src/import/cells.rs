//! Sealed secrets of an import, beside those that are here and the keys that this hub has.

use protocol::{
    ResourceId,
    export::{Finding, ImportReport, Line, RecordKind},
};
use serde_json::Value;

use super::Importer;
use crate::vault;

impl Importer {
    /// Puts the cell that is here in the place of one that says the same, so that sealing anew makes no conflicts.
    ///
    /// Tells of cells that no key of their org opens, which are stored as they are.
    pub(super) async fn settle_cells(&self, records: &mut [Line], report: &mut ImportReport) {
        for record in records {
            let Some((id, version, cell)) = cell_of(record) else { continue };
            if !self.vault.knows(vault::org(&id)) {
                continue;
            }
            let Ok(text) = self.vault.open(&id, cell) else {
                report.add_adjusted(Finding {
                    place: id.to_string(),
                    field: "secure_body".to_owned(),
                    reason: "opens with no key that the hub has".to_owned(),
                });
                continue;
            };
            let here = self.store.find_cell(id.clone(), version).await.ok().flatten();
            if let Some(here) = here
                && self.vault.open(&id, &here).is_ok_and(|here| here == text)
            {
                *cell = here;
            }
        }
    }
}

/// Returns the secret that a record brings, its resource, and of an earlier version the number.
fn cell_of(record: &mut Line) -> Option<(ResourceId, Option<i64>, &mut String)> {
    let (id, version, cell) = match record {
        Line::Resource(one) => (one.id.clone(), None, &mut one.secure_body),
        Line::Version(one) if one.kind == RecordKind::Resource => {
            let Some(Value::String(cell)) = one.record.get_mut("secure_body") else { return None };
            (one.id.parse().ok()?, Some(one.version), cell)
        }
        _ => return None,
    };
    (!cell.is_empty()).then_some((id, version, cell))
}
