//! `knowhub contacts`: who is known to the relay.

use clap::Args;
use protocol::im::Contact;
use serde_json::json;

use super::{Failure, Outcome, RELAY_PATIENCE};
use crate::tools::Context;

const EXAMPLES: &str = "\
Examples:
  knowhub contacts
  knowhub contacts --json | jq -r '.contacts[] | select(.online).contact_id'";

/// List who is known to the relay, and who is online
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Contacts {}

impl Contacts {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let mut contacts = context.im().contacts(RELAY_PATIENCE).await?;
        // This very command is one too, and gone when its output is read.
        contacts.retain(|contact| contact.contact_id != context.relay.contact_id);
        Ok(Outcome::done(text(&contacts), &json!({ "contacts": contacts })))
    }
}

fn text(contacts: &[Contact]) -> String {
    // Each run of a short-lived client leaves a contact behind that nobody looks for by name.
    let is_left_behind =
        |contact: &&Contact| !contact.online && contact.contact_id.as_str().contains('/');
    let (left_behind, shown): (Vec<_>, Vec<_>) = contacts.iter().partition(is_left_behind);
    let width = shown.iter().map(|contact| contact.contact_id.as_str().len()).max();
    let line = |contact: &Contact| {
        let presence = match (contact.online, contact.connections) {
            (false, _) => "offline".to_owned(),
            (true, 1) => "online".to_owned(),
            (true, connections) => format!("online, {connections} connections"),
        };
        let (id, width) = (contact.contact_id.as_str(), width.unwrap_or_default());
        format!("{id:width$}  {presence}, last seen {}", contact.last_seen)
    };
    let mut lines: Vec<_> = shown.into_iter().map(line).collect();
    if lines.is_empty() {
        lines.push("Nobody is there, and nobody is expected.".to_owned());
    }
    match left_behind.len() {
        0 => {}
        1 => lines.push("(1 short-lived contact is gone; --json lists it)".to_owned()),
        count => lines.push(format!("({count} short-lived contacts are gone; --json lists them)")),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use protocol::Timestamp;

    use super::*;

    #[test]
    fn presence_is_one_line_each() {
        let contact = |id: &str, connections| Contact {
            contact_id: id.parse().unwrap(),
            online: connections > 0,
            connections,
            last_seen: Timestamp::from_millis(0),
        };
        let list = [
            contact("a", 0),
            contact("knowledge_manager", 2),
            contact("b/1", 1),
            contact("b/2", 0),
        ];
        expect![[r#"
            a                  offline, last seen 1970-01-01T00:00:00.000Z
            knowledge_manager  online, 2 connections, last seen 1970-01-01T00:00:00.000Z
            b/1                online, last seen 1970-01-01T00:00:00.000Z
            (1 short-lived contact is gone; --json lists it)"#]]
        .assert_eq(&text(&list));
        assert_eq!(text(&[]), "Nobody is there, and nobody is expected.");
    }
}
