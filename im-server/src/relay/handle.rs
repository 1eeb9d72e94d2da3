//! How connections and routes talk to the relay, and the relay to connections.

use std::sync::{Arc, Mutex, PoisonError};

use protocol::{
    ContactId,
    im::{ClientFrame, Contact, Hello, ServerFrame},
};
use tokio::sync::{mpsc, oneshot};

use crate::mailbox::{Closing, ConnectionId, Ending};

/// Everything that can happen to the mailboxes from outside.
#[derive(Debug)]
pub(super) enum Input {
    Connect { connection: ConnectionId, hello: Hello, outbox: Outbox },
    Frame { connection: ConnectionId, frame: ClientFrame },
    Disconnect { connection: ConnectionId, ending: Ending },
    ListContacts { reply: oneshot::Sender<Vec<Contact>> },
    Drain,
}

/// A cheap way to the relay; the relay ends when the last one is gone.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    inputs: mpsc::Sender<Input>,
    trouble: Arc<Mutex<Option<String>>>,
}

/// The relay is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

impl Handle {
    pub(super) fn new(inputs: mpsc::Sender<Input>, trouble: Arc<Mutex<Option<String>>>) -> Self {
        Self { inputs, trouble }
    }

    /// Tells that a connection said `hello`; all answers go to its outbox.
    pub(crate) async fn connect(
        &self,
        connection: ConnectionId,
        hello: Hello,
        outbox: Outbox,
    ) -> Result<(), Gone> {
        self.put(Input::Connect { connection, hello, outbox }).await
    }

    /// Passes on what a connection says; waits while the mailboxes are busy.
    pub(crate) async fn pass_on(
        &self,
        connection: ConnectionId,
        frame: ClientFrame,
    ) -> Result<(), Gone> {
        self.put(Input::Frame { connection, frame }).await
    }

    /// Tells that a connection is over.
    pub(crate) async fn disconnect(&self, connection: ConnectionId, ending: Ending) {
        // A relay that is gone holds nothing for it any more.
        let _ = self.put(Input::Disconnect { connection, ending }).await;
    }

    /// Returns who is known to the relay.
    pub(crate) async fn list_contacts(&self) -> Result<Vec<Contact>, Gone> {
        let (reply, contacts) = oneshot::channel();
        self.put(Input::ListContacts { reply }).await?;
        contacts.await.map_err(|_| Gone)
    }

    /// Starts the shutdown.
    pub(crate) async fn drain(&self) {
        // A relay that is gone needs none.
        let _ = self.put(Input::Drain).await;
    }

    /// Returns once the relay has ended and its store is closed.
    pub(crate) async fn ended(&self) {
        self.inputs.closed().await;
    }

    /// Tells whether messages can be accepted, or why not.
    pub(crate) fn check_ready(&self) -> Result<(), String> {
        if self.inputs.is_closed() {
            return Err("the relay is going down".to_owned());
        }
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(()),
        }
    }

    async fn put(&self, input: Input) -> Result<(), Gone> {
        self.inputs.send(input).await.map_err(|_| Gone)
    }
}

/// The relay's side of one connection.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) contact_id: ContactId,
    /// Read by the connection; bounded, and the connection is closed when it is full.
    /// Boxed, because the channel keeps room for 32 of them even while it is empty.
    pub(crate) frames: mpsc::Sender<Box<ServerFrame>>,
    /// Read by the connection, also while it cannot write.
    pub(crate) closing: oneshot::Sender<Closing>,
}

impl Outbox {
    /// Returns whether there was room, or nobody to take it.
    pub(super) fn push(&self, frame: ServerFrame) -> bool {
        !matches!(self.frames.try_send(Box::new(frame)), Err(mpsc::error::TrySendError::Full(_)))
    }

    pub(super) fn close(self, closing: Closing) {
        // The connection may have ended by itself.
        let _ = self.closing.send(closing);
    }
}
