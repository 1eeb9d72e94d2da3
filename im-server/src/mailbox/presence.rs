//! Who is known, and who is online with which connections.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use protocol::{
    ContactId, Timestamp,
    im::{Contact, Mode, Recipient},
};

use super::ConnectionId;
use crate::store::Write;

/// How many contacts one listing shows; past it those longest away are left out.
pub(super) const MAX_LISTED: usize = 1_000;

/// How long a contact that is away is known; then it is `unknown` again.
const KEEP_CONTACT: Duration = Duration::from_hours(30 * 24);

/// The same for a short-lived client `name/instance`, whose random instance does not return.
const KEEP_INSTANCE: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct Presence {
    known: HashMap<ContactId, Known>,
    /// Contacts whose row in the store is older than what is known here.
    stale: BTreeSet<ContactId>,
}

#[derive(Debug)]
struct Known {
    last_seen: Timestamp,
    mode: Mode,
    /// In the order in which they came.
    connections: Vec<ConnectionId>,
}

impl Presence {
    pub(super) fn new(stored: Vec<(ContactId, Timestamp)>) -> Self {
        let away = |last_seen| Known { last_seen, mode: Mode::default(), connections: Vec::new() };
        let known = stored.into_iter().map(|(contact, seen)| (contact, away(seen))).collect();
        Self { known, stale: BTreeSet::new() }
    }

    pub(super) fn connect(
        &mut self,
        contact: ContactId,
        connection: ConnectionId,
        mode: Mode,
        now: Timestamp,
    ) {
        self.stale.insert(contact.clone());
        let known = self.known.entry(contact).or_insert_with(|| Known {
            last_seen: now,
            mode,
            connections: Vec::new(),
        });
        known.last_seen = now;
        known.mode = mode;
        known.connections.push(connection);
    }

    pub(super) fn disconnect(
        &mut self,
        contact: &ContactId,
        connection: ConnectionId,
        now: Timestamp,
    ) {
        if let Some(known) = self.known.get_mut(contact) {
            known.connections.retain(|other| *other != connection);
            known.last_seen = now;
            self.stale.insert(contact.clone());
        }
    }

    /// Returns the mode in which a contact is online, if it is.
    pub(super) fn mode(&self, contact: &ContactId) -> Option<Mode> {
        self.known
            .get(contact)
            .filter(|known| !known.connections.is_empty())
            .map(|known| known.mode)
    }

    /// Returns a contact's connections, oldest first.
    pub(super) fn connections(&self, contact: &ContactId) -> &[ConnectionId] {
        self.known.get(contact).map_or(&[], |known| &known.connections)
    }

    pub(super) fn recipient(&self, contact: &ContactId) -> Recipient {
        match self.known.get(contact) {
            None => Recipient::Unknown,
            Some(known) if known.connections.is_empty() => Recipient::Offline,
            Some(_) => Recipient::Online,
        }
    }

    /// Returns at most [`MAX_LISTED`] contacts by id: those online, then those seen last.
    pub(super) fn list(&self, now: Timestamp) -> Vec<Contact> {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_by_key(|(_, known)| (known.connections.is_empty(), Reverse(known.last_seen)));
        all.truncate(MAX_LISTED);
        all.sort_by_key(|(contact, _)| *contact);
        all.into_iter()
            .map(|(contact, known)| Contact {
                contact_id: contact.clone(),
                online: !known.connections.is_empty(),
                connections: known.connections.len() as u32,
                last_seen: if known.connections.is_empty() { known.last_seen } else { now },
            })
            .collect()
    }

    /// Forgets who was away for too long and has no mail.
    pub(super) fn sweep(
        &mut self,
        now: Timestamp,
        has_mail: impl Fn(&ContactId) -> bool,
    ) -> Vec<Write> {
        let is_gone = |contact: &ContactId, known: &mut Known| {
            let keep = if contact.as_str().contains('/') { KEEP_INSTANCE } else { KEEP_CONTACT };
            known.connections.is_empty() && now.since(known.last_seen) >= keep && !has_mail(contact)
        };
        let gone: Vec<_> = self.known.extract_if(is_gone).map(|(contact, _)| contact).collect();
        gone.into_iter()
            .map(|contact_id| {
                self.stale.remove(&contact_id);
                Write::ForgetContact { contact_id }
            })
            .collect()
    }

    /// Takes the writes that bring the store up to date.
    pub(super) fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.stale)
            .into_iter()
            .filter_map(|contact_id| {
                let last_seen = self.known.get(&contact_id)?.last_seen;
                Some(Write::Contact { contact_id, last_seen })
            })
            .collect()
    }
}
