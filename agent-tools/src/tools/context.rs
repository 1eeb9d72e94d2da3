//! What the tools work with: the hub, the relay, whom to ask.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::{ContactId, MessageId, librarian::MAX_UPLOAD_ITEMS};

use crate::{
    hub,
    im::{self, State},
};

/// How long a question waits for the librarian, unless a setting says otherwise.
pub const ASK_TIMEOUT: Duration = Duration::from_secs(30);

/// What the tools of one agent work with; shared by all its calls.
///
/// The relay is connected on first use, once for all calls.
pub struct Context {
    /// The hub.
    pub hub: hub::Client,
    /// The relay, as the agent's own short-lived contact `{name}/{random}`.
    pub relay: im::Config,
    /// Whom to ask.
    pub librarian: ContactId,
    /// How long a question waits for the librarian before direct search takes its place.
    pub ask_timeout: Duration,
    client: Mutex<Option<im::Client>>,
    /// The uploads that the next FINALIZE lists as its parts.
    ///
    /// Past [`MAX_UPLOAD_ITEMS`] none is listed, and the receipt cannot tell which are missing.
    parts: Mutex<Vec<MessageId>>,
}

impl Context {
    /// Returns what tools need to work with these services.
    pub fn new(
        hub: hub::Client,
        relay: im::Config,
        librarian: ContactId,
        ask_timeout: Duration,
    ) -> Self {
        Self {
            hub,
            relay,
            librarian,
            ask_timeout,
            client: Mutex::default(),
            parts: Mutex::default(),
        }
    }

    /// Returns the relay's client, started when there is none or the last one stopped for good.
    pub fn im(&self) -> im::Client {
        let mut client = lock(&self.client);
        if let Some(client) = &*client
            && !matches!(*client.state().borrow(), State::Stopped(_))
        {
            return client.clone();
        }
        // Nobody reads what settles no request: the relay keeps it.
        let (started, _) = im::Client::start(self.relay.clone());
        client.insert(started).clone()
    }

    /// Closes the connection to the relay, if there is one, so that nothing due is left unsaid.
    pub async fn close(&self) {
        let client = lock(&self.client).take();
        if let Some(client) = client {
            client.close().await;
        }
    }

    pub(super) fn note_part(&self, id: MessageId) {
        let mut parts = lock(&self.parts);
        if parts.len() <= MAX_UPLOAD_ITEMS {
            parts.push(id);
        }
    }

    /// Returns the parts that a FINALIZE lists; none when there are more than it may.
    pub(super) fn parts(&self) -> Vec<MessageId> {
        let parts = lock(&self.parts);
        if parts.len() > MAX_UPLOAD_ITEMS { Vec::new() } else { parts.clone() }
    }

    /// Forgets the parts, once a FINALIZE that speaks of them is in good hands.
    pub(super) fn forget_parts(&self) {
        lock(&self.parts).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
