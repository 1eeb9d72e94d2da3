//! The merge window: collects the uploads of a conversation until it is time to submit them.
//!
//! A state machine of arrivals and times, without a clock of its own. `H` is whatever the caller
//! keeps of a message, such as its unacknowledged delivery.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::{Conversation, Part};

/// When a window ends by itself. No limit loses anything: a window that ends is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long after its first message; later uploads are merged among themselves.
    pub duration: Duration,
    /// How many messages one window holds.
    pub max_messages: usize,
    /// How much text one window holds, in bytes; a single larger message makes a window alone.
    pub max_bytes: usize,
    /// How many messages all open windows hold together; past it the oldest window ends.
    pub max_open_messages: usize,
}

/// Messages that are submitted together, oldest first.
#[derive(Debug)]
pub struct Window<H> {
    /// Whose they are.
    pub conversation: Conversation,
    /// Each message with what the caller keeps of it; if one finalizes, it is the last.
    pub parts: Vec<(Part, H)>,
    size_bytes: usize,
    ends_at: Instant,
    is_closed: bool,
}

/// The windows of all conversations; of each conversation one at a time is being submitted.
#[derive(Debug)]
pub struct Windows<H> {
    limits: Limits,
    conversations: HashMap<Conversation, Queue<H>>,
}

#[derive(Debug)]
struct Queue<H> {
    /// Oldest first; all but the last are closed.
    windows: VecDeque<Window<H>>,
    /// An earlier window is on its way to the hub, so the next one waits.
    is_submitting: bool,
}

impl<H> Windows<H> {
    /// No windows yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, conversations: HashMap::new() }
    }

    /// Changes how many messages all open windows may hold together.
    pub fn limit_open_messages(&mut self, max_open_messages: usize) {
        self.limits.max_open_messages = max_open_messages;
    }

    /// Puts a message into the window of its conversation, which opens if there is none.
    ///
    /// A message that waits already was delivered again: it keeps its place, and `handle`
    /// replaces the older one.
    pub fn add(&mut self, part: Part, handle: H, now: Instant) {
        let queue = self.conversations.entry(part.conversation.clone()).or_default();
        if let Some((_, waiting)) = queue.find(&part) {
            *waiting = handle;
            return;
        }
        let Limits { duration, max_messages, max_bytes, .. } = self.limits;
        let has_room = queue.windows.back().is_some_and(|window| {
            !window.is_closed && window.size_bytes + part.size_bytes <= max_bytes
        });
        if !has_room {
            queue.close_last();
            queue.windows.push_back(Window::open(part.conversation.clone(), now + duration));
        }
        let window = queue.windows.back_mut().expect("one was opened if there was none");
        window.size_bytes += part.size_bytes;
        window.is_closed = part.finalize.is_some()
            || window.parts.len() + 1 >= max_messages
            || window.size_bytes >= max_bytes;
        window.parts.push((part, handle));
        self.close_beyond_limit();
    }

    /// Takes out the windows that are to be submitted now.
    ///
    /// The caller says [`Self::submitted`] when it is done with one of them.
    pub fn take_due(&mut self, now: Instant) -> Vec<Window<H>> {
        let mut due = Vec::new();
        for queue in self.conversations.values_mut().filter(|queue| !queue.is_submitting) {
            if queue.windows.front().is_some_and(|window| window.is_closed || window.ends_at <= now)
            {
                queue.is_submitting = true;
                due.extend(queue.windows.pop_front());
            }
        }
        due
    }

    /// Lets the next window of a conversation go.
    pub fn submitted(&mut self, conversation: &Conversation) {
        if let Some(queue) = self.conversations.get_mut(conversation) {
            queue.is_submitting = false;
            if queue.windows.is_empty() {
                self.conversations.remove(conversation);
            }
        }
    }

    /// Returns when [`Self::take_due`] has something next; it may be in the past.
    pub fn next_due(&self) -> Option<Instant> {
        self.conversations
            .values()
            .filter(|queue| !queue.is_submitting)
            .filter_map(|queue| queue.windows.front())
            .map(|window| window.ends_at)
            .min()
    }

    /// Returns what the caller keeps of each message that waits.
    pub fn waiting(&self) -> impl Iterator<Item = &H> {
        self.conversations
            .values()
            .flat_map(|queue| &queue.windows)
            .flat_map(|window| &window.parts)
            .map(|(_, handle)| handle)
    }

    /// Ends open windows, oldest first, until they hold no more than they may.
    fn close_beyond_limit(&mut self) {
        let mut open: Vec<_> = self
            .conversations
            .values_mut()
            .filter_map(|queue| queue.windows.back_mut())
            .filter(|window| !window.is_closed)
            .collect();
        let mut messages: usize = open.iter().map(|window| window.parts.len()).sum();
        open.sort_by_key(|window| window.ends_at);
        for window in open {
            if messages < self.limits.max_open_messages {
                break;
            }
            messages -= window.parts.len();
            window.is_closed = true;
        }
    }
}

impl<H> Queue<H> {
    fn find(&mut self, part: &Part) -> Option<&mut (Part, H)> {
        self.windows
            .iter_mut()
            .flat_map(|window| &mut window.parts)
            .find(|(waiting, _)| waiting.id == part.id)
    }

    fn close_last(&mut self) {
        if let Some(window) = self.windows.back_mut() {
            window.is_closed = true;
        }
    }
}

impl<H> Default for Queue<H> {
    fn default() -> Self {
        Self { windows: VecDeque::new(), is_submitting: false }
    }
}

impl<H> Window<H> {
    fn open(conversation: Conversation, ends_at: Instant) -> Self {
        Self { conversation, parts: Vec::new(), size_bytes: 0, ends_at, is_closed: false }
    }
}

#[cfg(test)]
mod tests {
    use protocol::MessageId;
    use protocol::librarian::Items;

    use super::super::Finalize;
    use super::*;

    const DURATION: Duration = Duration::from_secs(5);
    const LIMITS: Limits =
        Limits { duration: DURATION, max_messages: 4, max_bytes: 1_000, max_open_messages: 6 };

    fn conversation(sender: &str) -> Conversation {
        Conversation { sender: sender.parse().expect("an id"), chat: None }
    }

    fn part(sender: &str, size_bytes: usize) -> Part {
        Part {
            conversation: conversation(sender),
            id: MessageId::random(),
            items: Items::default(),
            size_bytes,
            finalize: None,
        }
    }

    /// The windows that are due, each as its sender and its messages' handles.
    fn due(windows: &mut Windows<u32>, now: Instant) -> Vec<(String, Vec<u32>)> {
        let mut due: Vec<_> = windows
            .take_due(now)
            .into_iter()
            .map(|window| {
                let handles = window.parts.iter().map(|(_, handle)| *handle).collect();
                (window.conversation.sender.to_string(), handles)
            })
            .collect();
        due.sort();
        due
    }

    fn window(sender: &str, handles: &[u32]) -> (String, Vec<u32>) {
        (sender.to_owned(), handles.to_vec())
    }

    #[test]
    fn a_window_ends_after_its_time_and_each_conversation_has_its_own() {
        let (mut windows, start) = (Windows::new(LIMITS), Instant::now());
        windows.add(part("a", 1), 1, start);
        windows.add(part("b", 1), 2, start + DURATION / 2);
        windows.add(part("a", 1), 3, start + DURATION / 2);
        assert_eq!(windows.next_due(), Some(start + DURATION));
        assert_eq!(due(&mut windows, start + DURATION - Duration::from_millis(1)), []);
        assert_eq!(due(&mut windows, start + DURATION), [window("a", &[1, 3])]);
        assert_eq!(windows.next_due(), Some(start + DURATION * 3 / 2));
        assert_eq!(windows.waiting().collect::<Vec<_>>(), [&2]);
        assert_eq!(due(&mut windows, start + DURATION * 2), [window("b", &[2])]);
    }

    #[test]
    fn finalize_ends_a_window_at_once() {
        let (mut windows, now) = (Windows::new(LIMITS), Instant::now());
        windows.add(part("a", 1), 1, now);
        windows.add(Part { finalize: Some(Finalize::default()), ..part("a", 1) }, 2, now);
        assert_eq!(due(&mut windows, now), [window("a", &[1, 2])]);
    }

    #[test]
    fn count_and_bytes_end_a_window_at_once() {
        let (mut windows, now) = (Windows::new(LIMITS), Instant::now());
        for handle in 1..=4 {
            assert_eq!(due(&mut windows, now), []);
            windows.add(part("count", 1), handle, now);
        }
        assert_eq!(due(&mut windows, now), [window("count", &[1, 2, 3, 4])]);

        windows.add(part("bytes", 600), 5, now);
        windows.add(part("bytes", 600), 6, now);
        assert_eq!(due(&mut windows, now), [window("bytes", &[5])]);
        windows.add(part("alone", 5_000), 7, now);
        assert_eq!(due(&mut windows, now), [window("alone", &[7])]);
    }

    #[test]
    fn all_windows_together_are_bounded() {
        let (mut windows, start) = (Windows::new(LIMITS), Instant::now());
        for (sender, handle) in [("a", 1), ("b", 2), ("c", 3), ("b", 4), ("c", 5)] {
            windows.add(part(sender, 1), handle, start + Duration::from_millis(handle.into()));
        }
        let now = start + Duration::from_millis(10);
        assert_eq!(due(&mut windows, now), []);
        windows.add(part("d", 1), 6, now);
        assert_eq!(due(&mut windows, now), [window("a", &[1])]);
    }

    #[test]
    fn windows_of_one_conversation_are_submitted_one_after_the_other() {
        let (mut windows, now) = (Windows::new(LIMITS), Instant::now());
        let finalize = || Part { finalize: Some(Finalize::default()), ..part("a", 1) };
        windows.add(finalize(), 1, now);
        assert_eq!(due(&mut windows, now), [window("a", &[1])]);
        windows.add(part("a", 1), 2, now);
        windows.add(finalize(), 3, now);
        windows.add(part("a", 1), 4, now);
        assert_eq!(due(&mut windows, now + DURATION), []);
        assert_eq!(windows.next_due(), None);
        windows.submitted(&conversation("a"));
        assert_eq!(due(&mut windows, now), [window("a", &[2, 3])]);
        windows.submitted(&conversation("a"));
        assert_eq!(due(&mut windows, now + DURATION), [window("a", &[4])]);
        windows.submitted(&conversation("a"));
        assert!(windows.conversations.is_empty());
    }

    #[test]
    fn a_message_delivered_again_keeps_its_place() {
        let (mut windows, now) = (Windows::new(LIMITS), Instant::now());
        let first = part("a", 1);
        windows.add(first.clone(), 1, now);
        windows.add(part("a", 1), 2, now);
        windows.add(first, 3, now + DURATION / 2);
        assert_eq!(due(&mut windows, now + DURATION), [window("a", &[3, 2])]);
    }
}
