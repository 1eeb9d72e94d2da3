//! Answers questions, each in a task of its own, and tells senders what was wrong.

use std::sync::Arc;
use std::time::Duration;

use agent_tools::im::{Client, Delivery};
use librarian_core::{Language, Librarian, Question, ShelfError};
use protocol::Timestamp;
use protocol::librarian::GrammarFault;
use service::logging::chain;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::reply::{Reply, Sent, patience_left};

/// How many questions are answered at the same time; whoever asks beyond it is told `busy` at once.
///
/// Fewer than the relay leaves unacknowledged (64), or nobody would ever get here to be told.
const MAX_ASKS: usize = 56;

/// The longest a question is worked on, also for an asker with more patience.
const LONGEST_ASK: Duration = Duration::from_secs(30);

/// The desk where questions are answered.
#[derive(Clone)]
pub(crate) struct Asks {
    im: Client,
    librarian: Arc<Librarian>,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Asks {
    /// Answers over `im`; every reply on its way is one of `tasks`.
    pub(crate) fn new(im: Client, librarian: Librarian, tasks: TaskTracker) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_ASKS));
        Self { im, librarian: Arc::new(librarian), permits, tasks }
    }

    /// Starts on a question; does not wait for the answer.
    pub(crate) fn ask(&self, delivery: Delivery, query: String) {
        let asks = self.clone();
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        self.tasks.spawn(async move {
            let reply = match permit {
                Ok(_permit) => asks.answer(&delivery, query).await,
                Err(_) => busy(&delivery, &query),
            };
            asks.reply(delivery, reply).await;
        });
    }

    /// Starts to tell the sender of a message what was wrong with it.
    pub(crate) fn refuse(&self, delivery: Delivery, fault: &GrammarFault) {
        let message = &delivery.message;
        tracing::info!(
            message.id = %message.id,
            contact.id = %message.from,
            "told the sender that the message is malformed"
        );
        let reply = Reply::malformed(Language::of(&message.content), fault);
        let asks = self.clone();
        self.tasks.spawn(async move { asks.reply(delivery, reply).await });
    }

    async fn answer(&self, delivery: &Delivery, query: String) -> Reply {
        let started = Instant::now();
        let message = &delivery.message;
        let asked_at = Timestamp::now();
        let patience = patience_left(message, asked_at).min(LONGEST_ASK);
        let question = Question { text: query, asked_at, deadline: started + patience };
        let language = Language::of(&question.text);
        match self.librarian.ask(&question).await {
            Ok(answer) => {
                tracing::info!(
                    message.id = %message.id,
                    contact.id = %message.from,
                    answer.mode = ?answer.mode,
                    answer.reason = answer.reason,
                    answer.sources = answer.sources.len(),
                    duration_ms = started.elapsed().as_millis() as u64,
                    "a question is answered"
                );
                Reply::answer(answer)
            }
            Err(ShelfError::Unavailable(cause)) => {
                tracing::warn!(
                    message.id = %message.id,
                    contact.id = %message.from,
                    error = %chain(&*cause),
                    "told the asker that the hub does not answer"
                );
                Reply::hub_unavailable(language)
            }
            Err(ShelfError::Refused(complaint)) => Reply::refused_query(language, &complaint),
        }
    }

    /// Sends a reply and acknowledges the message once nothing more can be done about it.
    async fn reply(&self, delivery: Delivery, reply: Reply) {
        let message = &delivery.message;
        let left = patience_left(message, Timestamp::now());
        if left.is_zero() {
            tracing::warn!(message.id = %message.id, "the asker stopped waiting before the reply");
            return delivery.ack();
        }
        if reply.send(&self.im, message, Some(left), left).await == Sent::Unsure {
            tracing::warn!(
                message.id = %message.id,
                "the reply was not accepted as long as the asker waited"
            );
        }
        delivery.ack();
    }
}

fn busy(delivery: &Delivery, query: &str) -> Reply {
    tracing::warn!(
        message.id = %delivery.message.id,
        contact.id = %delivery.message.from,
        "told the asker that {MAX_ASKS} questions are being answered"
    );
    Reply::busy(Language::of(query))
}
