//! The relay's settings, each read once, and the bounds that follow from them.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use protocol::im;

/// A message's share of a frame besides its content (ids, `meta`), and room for JSON's escapes.
const MIN_FRAME_BYTES: u64 = 1 << 20;

/// The settings of one relay.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "im-server", version, about = "KnowHub's relay: WebSocket with store-and-forward")]
pub struct Config {
    /// Address to listen on; the relay asks for no tokens, so it must be a loopback address.
    #[arg(long, env = "IM_ADDR", value_name = "IM_ADDR", value_parser = service::http::parse_addr, default_value = "127.0.0.1:8765")]
    pub im_addr: SocketAddr,

    /// The mailboxes' file; made with its folder when missing.
    #[arg(long, env = "IM_DB", value_name = "IM_DB", default_value = "data/im.db")]
    pub im_db: PathBuf,

    /// `Origin` headers that are let in, by comma; agents send none, and all others are refused.
    #[arg(long, env = "IM_ORIGINS", value_name = "IM_ORIGINS", value_parser = service::http::parse_origin, value_delimiter = ',')]
    pub im_origins: Vec<String>,

    /// Host names besides loopback that the relay answers to, by comma, without port.
    #[arg(long, env = "IM_HOSTS", value_name = "IM_HOSTS", value_parser = service::http::parse_host, value_delimiter = ',')]
    pub im_hosts: Vec<String>,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub limits: Limits,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub logging: service::logging::Logging,
}

/// The relay's bounds; each says who loses when it is reached.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Limits {
    /// Longest `content` in bytes, 1 to 16777216; the sender of a longer one is told `too_large`.
    #[arg(
        long = "im-max-content-bytes", env = "IM_MAX_CONTENT_BYTES", value_name = "IM_MAX_CONTENT_BYTES",
        default_value_t = 262_144, value_parser = clap::value_parser!(u64).range(1..=16 << 20)
    )]
    pub max_content_bytes: u64,

    /// Unacknowledged deliveries a connection holds, 1 to 10000; the next one waits on disk.
    #[arg(
        long = "im-max-in-flight", env = "IM_MAX_IN_FLIGHT", value_name = "IM_MAX_IN_FLIGHT",
        default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    pub max_in_flight: u64,

    /// Messages a mailbox holds, 1 to 1000000; past it senders are told `mailbox_full`.
    #[arg(
        long = "im-max-mailbox", env = "IM_MAX_MAILBOX", value_name = "IM_MAX_MAILBOX",
        default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    pub max_mailbox: u64,

    /// Milliseconds a delivery may go without `ack` or `working`, from 100; then its holder is disconnected.
    #[arg(
        long = "im-ack-wait-ms", env = "IM_ACK_WAIT_MS", value_name = "IM_ACK_WAIT_MS",
        default_value = "60000", value_parser = millis
    )]
    pub ack_wait: Duration,

    /// Milliseconds between pings, from 100; a client that misses two is disconnected.
    #[arg(
        long = "im-heartbeat-ms", env = "IM_HEARTBEAT_MS", value_name = "IM_HEARTBEAT_MS",
        default_value = "30000", value_parser = millis
    )]
    pub heartbeat: Duration,
}

impl Limits {
    /// Returns the longest frame a client may send, in bytes; past it the client is disconnected (1009).
    pub fn max_frame_bytes(&self) -> u64 {
        MIN_FRAME_BYTES.max(4 * self.max_content_bytes)
    }

    /// Returns the bounds as the welcome tells them.
    pub fn announced(&self) -> im::Limits {
        im::Limits {
            max_content_bytes: self.max_content_bytes,
            max_in_flight: self.max_in_flight,
            max_mailbox: self.max_mailbox,
            ack_wait_ms: self.ack_wait.as_millis() as u64,
        }
    }
}

fn millis(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(millis @ 100..=86_400_000) => Ok(Duration::from_millis(millis)),
        _ => Err("must be a number of milliseconds from 100 to 86400000".to_owned()),
    }
}
