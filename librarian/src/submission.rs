//! Brings one window to the hub, however long that takes, and tells the sender how it went.

use std::sync::Arc;
use std::time::Duration;

use agent_tools::backoff::Backoff;
use agent_tools::im::{Client, Delivery, State};
use librarian_core::upload::{Finalize, ItemOutcome, Part, PartOutcome, Settled, Window, receipt};
use librarian_core::{Language, Shelf, ShelfError};
use service::logging::chain;
use tokio::time::{Instant, interval_at, sleep};

use crate::reply::{Reply, Sent};

/// How long a receipt is offered to the relay; after it the hub still has everything, and the
/// sender has no receipt.
const RECEIPT_PATIENCE: Duration = Duration::from_mins(10);

/// How often `working` is said where the relay does not tell its `ack_wait`.
const WORKING_PERIOD: Duration = Duration::from_secs(20);

/// What a submission needs of the daemon.
#[derive(Clone)]
pub(crate) struct Submitter {
    pub(crate) im: Client,
    pub(crate) shelf: Arc<dyn Shelf>,
}

impl Submitter {
    /// Submits every part of a window, replies, and acknowledges its messages.
    ///
    /// `earlier` are the parts of the same upload that were submitted before; what is returned are
    /// those that still have no receipt.
    pub(crate) async fn submit(
        self,
        window: Window<Delivery>,
        earlier: Vec<Settled>,
    ) -> Vec<Settled> {
        let settled = {
            let work = self.settle(&window, earlier);
            let mut work = std::pin::pin!(work);
            let period = working_period(&self.im);
            let mut ticks = interval_at(Instant::now() + period, period);
            loop {
                tokio::select! {
                    settled = &mut work => break settled,
                    _ = ticks.tick() => {
                        for (_, delivery) in &window.parts {
                            delivery.working();
                        }
                    }
                }
            }
        };
        for (_, delivery) in window.parts {
            delivery.ack();
        }
        settled
    }

    async fn settle(&self, window: &Window<Delivery>, earlier: Vec<Settled>) -> Vec<Settled> {
        let started = Instant::now();
        let mut settled = earlier;
        let earlier_count = settled.len();
        for (part, _) in &window.parts {
            let outcome = self.store(part).await;
            let conversation = part.conversation.clone();
            settled.push(Settled { conversation, id: part.id, outcome });
        }
        tracing::info!(
            contact.id = %window.conversation.sender,
            upload.messages = window.parts.len(),
            duration_ms = started.elapsed().as_millis() as u64,
            "an upload is stored"
        );
        let last = window.parts.last();
        if let Some((Part { finalize: Some(Finalize { parts }), .. }, delivery)) = last {
            let language = Language::of(&delivery.message.content);
            let receipt = receipt(&settled, parts);
            self.reply(delivery, &Reply::receipt(language, receipt)).await;
            return Vec::new();
        }
        let settled = settled.split_off(earlier_count);
        for (settled, (_, delivery)) in settled.iter().zip(&window.parts) {
            let receipt = receipt([settled], &[]);
            if !receipt.rejected.is_empty() {
                let language = Language::of(&delivery.message.content);
                self.reply(delivery, &Reply::rejections(language, receipt)).await;
            }
        }
        settled
    }

    /// Stores a part, trying again for as long as the hub is away.
    async fn store(&self, part: &Part) -> PartOutcome {
        let mut backoff = Backoff::default();
        loop {
            let cause = match self.shelf.submit(part).await {
                Ok(outcome) => return outcome,
                Err(ShelfError::Refused(reason)) => return refused(part, &reason),
                Err(ShelfError::Unavailable(cause)) => cause,
            };
            let pause = backoff.next_pause(rand::random());
            tracing::warn!(
                message.id = %part.id,
                error = %chain(&*cause),
                pause_ms = pause.as_millis() as u64,
                "an upload waits for the hub"
            );
            sleep(pause).await;
        }
    }

    async fn reply(&self, delivery: &Delivery, reply: &Reply) {
        let message = &delivery.message;
        if reply.send(&self.im, message, None, RECEIPT_PATIENCE).await == Sent::Unsure {
            tracing::error!(
                message.id = %message.id,
                contact.id = %message.from,
                "the relay did not take the reply to an upload; the hub has the upload"
            );
        }
    }
}

/// The outcome of a part that is refused as a whole.
fn refused(part: &Part, reason: &str) -> PartOutcome {
    let item = ItemOutcome::Rejected { field: String::new(), reason: reason.to_owned() };
    PartOutcome {
        knowledge: vec![item.clone(); part.items.knowledge.len()],
        resources: vec![item.clone(); part.items.resources.len()],
        tools: vec![item; part.items.tools.len()],
    }
}

/// Returns how often a held message must be called `working`: three times before the relay's
/// patience ends.
pub(crate) fn working_period(im: &Client) -> Duration {
    match &*im.state().borrow() {
        State::Connected(welcome) => Duration::from_millis((welcome.limits.ack_wait_ms / 3).max(1)),
        _ => WORKING_PERIOD,
    }
}
