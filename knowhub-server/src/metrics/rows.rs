//! Counting the stored rows now and then, so that nobody who reads the metrics waits for it.

use std::{sync::Arc, time::Duration};

use service::logging::chain;
use tokio_util::sync::CancellationToken;

use super::Metrics;
use crate::store::Store;

/// How long a count is good for.
const COUNT_INTERVAL: Duration = Duration::from_mins(1);

/// Counts the rows until `stop`; a failure is logged and the last counts stand.
pub(crate) async fn follow(store: Store, metrics: Arc<Metrics>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match store.count_rows().await {
            Ok(counts) => {
                for (kind, count) in counts {
                    metrics.rows(kind, count);
                }
            }
            Err(err) => tracing::warn!(error = %chain(&err), "the rows cannot be counted"),
        }
        let _ = stop.run_until_cancelled(tokio::time::sleep(COUNT_INTERVAL)).await;
    }
}
