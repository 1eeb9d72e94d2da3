//! Takes deliveries and hands each to whom it concerns; never waits for an answer.

use agent_tools::im::{self, Delivery, Inbox, State};
use protocol::{ContactId, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::asks::Asks;
use crate::sort::{Matter, sort};
use crate::uploads::Uploads;

/// Who takes care of what arrives.
pub(crate) struct Desks {
    /// The librarian's own contact.
    pub(crate) own: ContactId,
    /// Where questions are answered.
    pub(crate) asks: Asks,
    /// Where uploads are merged.
    pub(crate) uploads: Uploads,
}

/// Takes deliveries until the stop, or until the relay will have no more to do with this contact.
pub(crate) async fn run(
    mut inbox: Inbox,
    im: im::Client,
    desks: Desks,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        let delivery = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            delivery = inbox.next() => delivery,
        };
        match delivery {
            Some(delivery) => desks.hand_over(delivery).await,
            None => anyhow::bail!("the relay turned the librarian away: {}", why(&im)),
        }
    }
}

impl Desks {
    async fn hand_over(&self, delivery: Delivery) {
        let message = &delivery.message;
        match sort(message, &self.own, Timestamp::now()) {
            Matter::Ask(query) => self.asks.ask(delivery, query),
            Matter::Upload(part) => self.uploads.add(part, delivery).await,
            Matter::Malformed(fault) => self.asks.refuse(delivery, &fault),
            Matter::Nothing(why) => {
                tracing::info!(
                    message.id = %message.id,
                    contact.id = %message.from,
                    "a message is not answered: {why}"
                );
                delivery.ack();
            }
        }
    }
}

fn why(im: &im::Client) -> String {
    match &*im.state().borrow() {
        State::Stopped(reason) => reason.to_string(),
        _ => "the connection ended".to_owned(),
    }
}
