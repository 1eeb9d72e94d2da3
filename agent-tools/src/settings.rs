//! Addresses, tokens and keys, shared by every client program; each is read once.

use std::{env::VarError, time::Duration};

use clap::Args;
use protocol::{ContactId, im};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

/// Where the hub is.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Hub")]
pub struct HubArgs {
    /// The hub's address
    #[arg(
        long,
        global = true,
        env = "KNOWHUB_API",
        value_name = "KNOWHUB_API",
        default_value = "http://127.0.0.1:8000",
        value_parser = parse_api
    )]
    pub api: Url,

    /// The hub's token, where it wants one
    #[arg(
        long,
        global = true,
        env = "KNOWHUB_TOKEN",
        value_name = "KNOWHUB_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<SecretString>,
}

/// Where the relay is.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Relay")]
pub struct ImArgs {
    /// The relay's address
    #[arg(
        long,
        global = true,
        env = "IM_URL",
        value_name = "IM_URL",
        default_value = "ws://127.0.0.1:8765/ws",
        value_parser = parse_im_url
    )]
    pub im_url: String,

    /// The relay's token, where it wants one
    #[arg(long, global = true, env = "IM_TOKEN", value_name = "IM_TOKEN", hide_env_values = true)]
    pub im_token: Option<SecretString>,
}

impl ImArgs {
    /// Returns the configuration of a relay client that connects as `contact_id`.
    pub fn config(&self, contact_id: ContactId, mode: im::Mode, client: &str) -> crate::im::Config {
        crate::im::Config {
            url: self.im_url.clone(),
            contact_id,
            token: set(self.im_token.as_ref()),
            mode,
            client: client.to_owned(),
        }
    }
}

impl HubArgs {
    /// Returns the configuration of a hub client.
    pub fn config(&self) -> crate::hub::Config {
        crate::hub::Config { api: self.api.clone(), token: set(self.token.as_ref()) }
    }
}

/// Returns a secret that says something; an empty variable counts as unset.
fn set(secret: Option<&SecretString>) -> Option<SecretString> {
    secret.filter(|secret| !secret.expose_secret().is_empty()).cloned()
}

/// Returns the key of the org whose secrets are shown or changed, from `KNOWHUB_ORG_KEY`; empty counts as unset.
///
/// Any other setting is a flag too; this one would stand in the list of processes, for everybody to read.
pub(crate) fn org_key() -> Result<Option<SecretString>, crate::hub::Error> {
    #[expect(clippy::disallowed_methods, reason = "clap knows no variable without a flag")]
    let key = std::env::var("KNOWHUB_ORG_KEY");
    match key {
        Ok(key) => Ok(set(Some(&SecretString::from(key)))),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(crate::hub::Error::OrgKey),
    }
}

/// Who the agent is to the relay.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Relay")]
pub struct ContactArgs {
    /// Who asks; each program connects as `{IM_CONTACT_ID}/{random}`
    #[arg(
        long,
        global = true,
        env = "IM_CONTACT_ID",
        value_name = "IM_CONTACT_ID",
        default_value = "agent",
        value_parser = parse_contact_id
    )]
    pub contact_id: ContactId,

    /// Whom to ask
    #[arg(
        long,
        global = true,
        env = "LIBRARIAN_CONTACT_ID",
        value_name = "LIBRARIAN_CONTACT_ID",
        default_value = protocol::librarian::DEFAULT_CONTACT_ID
    )]
    pub librarian: ContactId,
}

/// The longest `IM_CONTACT_ID`, in characters: `/` and a random instance must fit behind it.
const MAX_NAME_CHARS: usize = 128 - 1 - INSTANCE_CHARS;

/// How many characters the random instance of a contact has.
const INSTANCE_CHARS: usize = 12;

impl ContactArgs {
    /// Returns the contact `{IM_CONTACT_ID}/{random}`, for one program's run.
    pub fn instance(&self) -> ContactId {
        let random = uuid::Uuid::new_v4().simple().to_string();
        self.contact_id
            .instance(&random[..INSTANCE_CHARS])
            .expect("a checked name leaves room for the instance")
    }
}

/// The longest patience that a setting may ask for.
const MAX_PATIENCE: Duration = Duration::from_hours(1);

/// Reads how long to wait, such as `30s`, `1500ms` or `2m`; a bare number is milliseconds.
pub(crate) fn parse_patience(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis = match unit {
        "" | "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        _ => None,
    };
    let number = number.parse::<u64>().ok();
    let patience = number.zip(millis).and_then(|(number, millis)| number.checked_mul(millis));
    match patience.map(Duration::from_millis) {
        Some(patience) if !patience.is_zero() && patience <= MAX_PATIENCE => Ok(patience),
        _ => Err("expected a time up to an hour, such as 30s, 1500ms, 2m or 30000".to_owned()),
    }
}

fn parse_contact_id(text: &str) -> Result<ContactId, String> {
    let id: ContactId = text.parse().map_err(|err: protocol::ids::IdFault| err.to_string())?;
    if id.as_str().len() > MAX_NAME_CHARS {
        return Err(format!("longer than {MAX_NAME_CHARS} characters"));
    }
    Ok(id)
}

fn parse_api(text: &str) -> Result<Url, String> {
    parse_address(text, ["http", "https"], "http://127.0.0.1:8000", "KNOWHUB_TOKEN")
}

fn parse_im_url(text: &str) -> Result<String, String> {
    parse_address(text, ["ws", "wss"], "ws://127.0.0.1:8765/ws", "IM_TOKEN")?;
    Ok(text.to_owned())
}

/// Reads an address of one of these schemes; what proves a right belongs in `token`, not here.
fn parse_address(
    text: &str,
    schemes: [&str; 2],
    example: &str,
    token: &str,
) -> Result<Url, String> {
    let url =
        Url::parse(text).map_err(|err| format!("{err}; expected an address such as {example}"))?;
    if !schemes.contains(&url.scheme()) || !url.has_host() {
        return Err(format!("expected an address such as {example}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("must hold no user name or password; put the token into {token}"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("must end with its path; expected an address such as {example}"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        assert!(parse_api("http://127.0.0.1:8000").is_ok());
        assert!(parse_im_url("wss://relay.example/ws").is_ok());
        for text in ["", "127.0.0.1:8000", "ws://a", "ftp://a", "http://a:b@c", "http://a/?b"] {
            assert!(parse_api(text).is_err(), "{text}");
        }
        for text in ["", "127.0.0.1:8765", "http://a/ws", "ws://a:b@c", "ws://a/ws#b"] {
            assert!(parse_im_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_contact_leaves_room_for_its_instance() {
        let longest = "a".repeat(MAX_NAME_CHARS);
        let args = ContactArgs {
            contact_id: parse_contact_id(&longest).unwrap(),
            librarian: "knowledge_manager".parse().unwrap(),
        };
        assert_eq!(args.instance().as_str().len(), 128);
        assert_ne!(args.instance(), args.instance());
        assert!(parse_contact_id(&format!("{longest}a")).is_err());
        assert!(parse_contact_id("a b").is_err());
    }

    #[test]
    fn patience_has_units_and_bounds() {
        assert_eq!(parse_patience("30000"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_patience("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_patience("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_patience("60m"), Ok(MAX_PATIENCE));
        for text in ["", "0", "-1", "s", "1h", "61m", "1.5s", "99999999999999999999", "4000000"] {
            assert!(parse_patience(text).is_err(), "{text}");
        }
    }
}
