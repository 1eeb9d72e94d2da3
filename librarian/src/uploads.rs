//! Keeps the merge windows: one task that collects uploads and sends full windows on their way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::im::{Client, Delivery, State};
use librarian_core::Shelf;
use librarian_core::upload::{Conversation, Ledger, Limits, Part, Settled, Windows};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::health::HubHealth;
use crate::submission::{Submitter, working_period};

/// How many messages one window holds; a full one is submitted at once.
const MAX_WINDOW_MESSAGES: usize = 32;

/// How much text one window holds; a full one is submitted at once.
const MAX_WINDOW_BYTES: usize = 256 * 1024;

/// How many settled parts are remembered for receipts; a receipt does not speak of older ones.
const LEDGER_PARTS: usize = 4_096;

/// How many messages the relay leaves unacknowledged, until it tells.
const DEFAULT_IN_FLIGHT: usize = 64;

/// When the relay is to deliver again an upload that was given back.
const GIVE_BACK: Duration = Duration::from_secs(5);

/// How many uploads wait between inbox and windows; beyond it the inbox waits a moment.
const QUEUE: usize = 64;

/// The handle of the task.
pub(crate) struct Uploads {
    /// Written by the inbox, read by the task; closes when either ends.
    queue: mpsc::Sender<(Part, Delivery)>,
}

impl Uploads {
    /// Puts an uploaded message into its window.
    pub(crate) async fn add(&self, part: Part, delivery: Delivery) {
        if self.queue.send((part, delivery)).await.is_err() {
            // The daemon is stopping, and the relay delivers the message again.
            tracing::debug!("an upload came after the stop");
        }
    }
}

/// Returns the handle and the task behind it, which runs until `stop`.
pub(crate) fn start(
    window: Duration,
    im: Client,
    shelf: Arc<dyn Shelf>,
    hub: HubHealth,
    stop: CancellationToken,
) -> (Uploads, impl Future<Output = anyhow::Result<()>>) {
    let (queue, received) = mpsc::channel(QUEUE);
    let limits = Limits {
        duration: window,
        max_messages: MAX_WINDOW_MESSAGES,
        max_bytes: MAX_WINDOW_BYTES,
        max_open_messages: DEFAULT_IN_FLIGHT / 2,
    };
    let keeper = Keeper {
        windows: Windows::new(limits),
        ledger: Ledger::new(LEDGER_PARTS),
        submitter: Submitter { im, shelf },
        hub,
        submissions: JoinSet::new(),
        running: HashMap::new(),
    };
    (Uploads { queue }, keeper.run(received, stop))
}

/// The state of the task.
struct Keeper {
    windows: Windows<Delivery>,
    ledger: Ledger,
    submitter: Submitter,
    hub: HubHealth,
    /// Windows on their way to the hub. They end with the task, unacknowledged: what the hub has
    /// of them already, it recognizes when they come again.
    submissions: JoinSet<Vec<Settled>>,
    /// Whose window each submission is, and how many messages it holds.
    running: HashMap<Id, (Conversation, usize)>,
}

impl Keeper {
    async fn run(
        mut self,
        mut received: mpsc::Receiver<(Part, Delivery)>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut work_told = Instant::now();
        loop {
            self.submit_due();
            let next_working = work_told + working_period(&self.submitter.im);
            let next_due = self.windows.next_due().unwrap_or(next_working).min(next_working);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some((part, delivery)) = received.recv() => self.take(part, delivery),
                Some(ended) = self.submissions.join_next_with_id() => self.settle(ended),
                () = sleep_until(next_due) => {}
            }
            if next_working <= Instant::now() {
                self.windows.waiting().for_each(Delivery::working);
                work_told = Instant::now();
            }
        }
    }

    /// Puts a message into its window, or gives it back while too many wait for an absent hub.
    ///
    /// Then uploads hold at most three quarters of what the relay leaves unacknowledged, so that
    /// questions still come through, and their askers learn that the hub is away.
    fn take(&mut self, part: Part, delivery: Delivery) {
        let in_flight = self.in_flight();
        let held = self.windows.waiting().count()
            + self.running.values().map(|(_, messages)| messages).sum::<usize>();
        if held >= (in_flight * 3 / 4).max(1) && self.hub.check().is_err() {
            tracing::warn!(
                message.id = %part.id,
                upload.messages = held,
                "too many uploads wait for the hub; gave one back to the relay"
            );
            return delivery.nak(GIVE_BACK);
        }
        self.windows.limit_open_messages((in_flight / 2).max(1));
        self.windows.add(part, delivery, Instant::now());
    }

    fn submit_due(&mut self) {
        for window in self.windows.take_due(Instant::now()) {
            let is_final = window.parts.last().is_some_and(|(part, _)| part.finalize.is_some());
            let earlier =
                if is_final { self.ledger.take(&window.conversation) } else { Vec::new() };
            let running = (window.conversation.clone(), window.parts.len());
            let submission = self.submitter.clone().submit(window, earlier);
            let task = self.submissions.spawn(submission);
            self.running.insert(task.id(), running);
        }
    }

    fn settle(&mut self, ended: Result<(Id, Vec<Settled>), JoinError>) {
        let id = match ended {
            Ok((id, settled)) => {
                for part in settled {
                    self.ledger.record(part);
                }
                id
            }
            Err(err) => {
                tracing::error!(error = %err, "a submission failed; the relay delivers it again");
                err.id()
            }
        };
        if let Some((conversation, _)) = self.running.remove(&id) {
            self.windows.submitted(&conversation);
        }
    }

    fn in_flight(&self) -> usize {
        match &*self.submitter.im.state().borrow() {
            State::Connected(welcome) => welcome.limits.max_in_flight as usize,
            _ => DEFAULT_IN_FLIGHT,
        }
    }
}
