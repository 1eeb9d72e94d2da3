//! The handle: send, request, contacts.

use std::{sync::Arc, time::Duration};

use protocol::im::{Accepted, Contact, Message, Recipient};
use tokio::{
    sync::{SemaphorePermit, watch},
    time::{Instant, timeout_at},
};

use super::{
    Config, Desk, Inbox, Outgoing, RequestError, SendError, State, StopReason,
    desk::{Expected, Posted},
    replies::Outcome,
    task,
};

/// How long a request outlives the loss of a connection before the relay counts as unreachable.
///
/// A relay that restarts is back well within it, and delivers the reply then.
const RECONNECT_GRACE: Duration = Duration::from_secs(2);

/// A cheap handle over one connection; the connection ends with the last handle.
#[derive(Clone)]
pub struct Client {
    handle: Arc<Handle>,
}

/// What all clones share; its end is the connection's.
struct Handle {
    desk: Arc<Desk>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

impl Client {
    /// Starts the connection task, which connects and reconnects forever.
    ///
    /// It stops when the last handle is gone, or when the relay says that reconnecting is no use.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(config: Config) -> (Self, Inbox) {
        let desk = Arc::new(Desk::new());
        // Not a task to be joined: its end is seen in the state by everybody who waits.
        tokio::spawn(task::run(config, Arc::clone(&desk)));
        let inbox = Inbox { desk: Arc::clone(&desk) };
        (Self { handle: Arc::new(Handle { desk }) }, inbox)
    }

    /// Returns what is known of the connection, now and when it changes.
    pub fn state(&self) -> watch::Receiver<State> {
        self.desk().state.subscribe()
    }

    /// Hands a message over, and returns once the relay has it on disk.
    ///
    /// It is sent again under the same id after a reconnect, and while the relay has no room for it.
    /// When `patience` runs out first, the relay may have the message all the same:
    /// send again under the same id to be sure.
    pub async fn send(&self, message: Outgoing, patience: Duration) -> Result<Accepted, SendError> {
        let deadline = Instant::now() + patience;
        let _turn = self.turn(deadline).await?;
        let mut posted = self.desk().post(message.into_frame());
        match timeout_at(deadline, &mut posted.accepted).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(SendError::Stopped(StopReason::Closed)),
            Err(_) => Err(self.overdue(posted)),
        }
    }

    /// Sends a message and returns the reply to it, which is acknowledged to the relay.
    ///
    /// The reply is the one that names the message in `in_reply_to`;
    /// one that names none counts when it can be meant for this request alone (same sender, same chat).
    /// A relay that cannot be reached, and a recipient who is not there, fail the request at once, not at the end of
    /// `patience`; the message then stays in the mailbox.
    pub async fn request(
        &self,
        message: Outgoing,
        patience: Duration,
    ) -> Result<Message, RequestError> {
        let deadline = Instant::now() + patience;
        self.reached(deadline).await?;
        let _turn = self.turn(deadline).await?;
        let frame = message.into_frame();
        let mut expected = self.desk().expect_reply(&frame);
        let mut posted = self.desk().post(frame);
        let mut unreachable = std::pin::pin!(self.unreachable());
        let mut is_accepted = false;
        loop {
            tokio::select! {
                biased;
                outcome = &mut expected.outcome => return end(outcome.ok()),
                answer = &mut posted.accepted, if !is_accepted => {
                    is_accepted = true;
                    check_recipient(answer.unwrap_or(Err(SendError::Deadline))?.recipient)?;
                }
                why = &mut unreachable => return Err(RequestError::Unreachable(why)),
                () = tokio::time::sleep_until(deadline) => {
                    return Err(late(posted, expected, is_accepted));
                }
            }
        }
    }

    /// Returns who is known to the relay, and who is online.
    pub async fn contacts(&self, patience: Duration) -> Result<Vec<Contact>, SendError> {
        let deadline = Instant::now() + patience;
        self.reached(deadline).await?;
        let _turn = self.turn(deadline).await?;
        let answer = timeout_at(deadline, self.desk().ask_contacts()).await;
        answer.map_err(|_| SendError::Deadline)?.map_err(|_| self.gone())
    }

    /// Waits until there is a connection; fails as soon as it is known that there is none.
    pub async fn connected(&self, patience: Duration) -> Result<(), SendError> {
        self.reached(Instant::now() + patience).await
    }

    /// Returns how many messages are not accepted yet, and how many replies are awaited.
    pub fn open_counts(&self) -> (usize, usize) {
        self.desk().open_counts()
    }

    /// Writes the acknowledgments that are due, closes the connection, and ends the task.
    ///
    /// What the relay has not accepted by then is given up; whoever waits for it is told.
    pub async fn close(self) {
        let mut state = self.state();
        self.desk().stop.cancel();
        // An error means that the task is gone, which is what is waited for.
        let _ = state.wait_for(|state| matches!(state, State::Stopped(_))).await;
    }

    fn desk(&self) -> &Arc<Desk> {
        &self.handle.desk
    }

    async fn turn(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, SendError> {
        match timeout_at(deadline, self.desk().turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(SendError::Deadline),
        }
    }

    async fn reached(&self, deadline: Instant) -> Result<(), SendError> {
        let mut state = self.state();
        let is_known = |state: &State| !matches!(state, State::Connecting { last_error: None });
        let Ok(known) = timeout_at(deadline, state.wait_for(is_known)).await else {
            return Err(SendError::Unreachable("no connection in time".to_owned()));
        };
        match known.as_deref() {
            Ok(State::Connected(_)) => Ok(()),
            Ok(State::Stopped(reason)) => Err(SendError::Stopped(reason.clone())),
            Ok(State::Connecting { last_error }) => {
                Err(SendError::Unreachable(last_error.clone().unwrap_or_default()))
            }
            Err(_) => Err(self.gone()),
        }
    }

    /// Resolves once the relay has been away for [`RECONNECT_GRACE`], or for good.
    async fn unreachable(&self) -> String {
        let mut state = self.state();
        loop {
            let is_away = |state: &State| !matches!(state, State::Connected(_));
            if state.wait_for(is_away).await.is_err() {
                return self.gone().to_string();
            }
            let is_back = |state: &State| !matches!(state, State::Connecting { .. });
            let settled = tokio::time::timeout(RECONNECT_GRACE, state.wait_for(is_back)).await;
            let Ok(Ok(now)) = settled.as_ref().map(|known| known.as_deref()) else {
                return self.away();
            };
            if let State::Stopped(reason) = now {
                return reason.to_string();
            }
        }
    }

    fn away(&self) -> String {
        match &*self.desk().state.borrow() {
            State::Connecting { last_error: Some(why) } => why.clone(),
            State::Stopped(reason) => reason.to_string(),
            _ => "the connection was lost".to_owned(),
        }
    }

    /// Says why the task is gone.
    fn gone(&self) -> SendError {
        match &*self.desk().state.borrow() {
            State::Stopped(reason) => SendError::Stopped(reason.clone()),
            _ => SendError::Stopped(StopReason::Closed),
        }
    }

    /// Says what a send that ran out of patience waited for.
    fn overdue(&self, posted: Posted) -> SendError {
        if let Some(refusal) = posted.take_back() {
            return SendError::Refused(refusal);
        }
        match &*self.desk().state.borrow() {
            State::Connected(_) => SendError::Deadline,
            State::Connecting { last_error } => SendError::Unreachable(
                last_error.clone().unwrap_or_else(|| "no connection in time".to_owned()),
            ),
            State::Stopped(reason) => SendError::Stopped(reason.clone()),
        }
    }
}

fn end(outcome: Option<Outcome>) -> Result<Message, RequestError> {
    match outcome {
        Some(Outcome::Reply(message)) => Ok(*message),
        Some(Outcome::GivenUp(code)) => Err(RequestError::Undeliverable(code)),
        None => Err(RequestError::Deadline),
    }
}

fn check_recipient(recipient: Recipient) -> Result<(), RequestError> {
    match recipient {
        Recipient::Online => Ok(()),
        recipient => Err(RequestError::Offline { recipient }),
    }
}

/// Says what a request that ran out of patience waited for.
fn late(posted: Posted, expected: Expected, is_accepted: bool) -> RequestError {
    drop(expected);
    match posted.take_back() {
        Some(refusal) if !is_accepted => RequestError::Refused(refusal),
        _ => RequestError::Deadline,
    }
}
