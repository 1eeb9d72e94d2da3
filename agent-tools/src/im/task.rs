//! The connection task: connects, reconnects, and knows when to stop.

use std::{sync::Arc, time::Duration};

use protocol::im::Welcome;
use tokio::time::Instant;

use super::{
    Config, Desk, StopReason,
    session::{self, Ended},
};
use crate::backoff::Backoff;

/// A connection that lived this long was sound: the next failure is the first of its row.
const SOUND: Duration = Duration::from_secs(5);

/// A pause longer than this is told to whoever waits for a connection, so that nobody waits it out.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// Keeps a connection until the client is closed or the relay says that it is no use.
pub(super) async fn run(config: Config, desk: Arc<Desk>) {
    let reason = keep_connected(&config, &desk).await;
    if reason == StopReason::Closed {
        tracing::debug!(contact.id = %config.contact_id, "relay client closed");
    } else {
        tracing::error!(contact.id = %config.contact_id, %reason, "relay client stopped for good");
    }
    desk.stopped(reason);
}

async fn keep_connected(config: &Config, desk: &Arc<Desk>) -> StopReason {
    let mut backoff = Backoff::default();
    loop {
        let connected = tokio::select! {
            biased;
            () = desk.stop.cancelled() => return StopReason::Closed,
            connected = session::connect(config) => connected,
        };
        let (ended, asked_pause) = match connected {
            Ok((socket, welcome)) => {
                let since = Instant::now();
                let ended = stay_connected(socket, welcome, desk).await;
                if since.elapsed() >= SOUND {
                    backoff = Backoff::default();
                }
                ended
            }
            Err(ended) => {
                if let Ended::Lost(why) = &ended {
                    tracing::warn!(%why, "cannot reach the relay");
                    desk.failed(why.clone());
                }
                (ended, None)
            }
        };
        let why = match ended {
            Ended::Stopped(reason) => return reason,
            Ended::Lost(why) => why,
        };
        let pause = asked_pause.unwrap_or_default().max(backoff.next_pause(rand::random()));
        if pause > LONG_PAUSE {
            desk.failed(why);
        }
        tokio::select! {
            () = desk.stop.cancelled() => return StopReason::Closed,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn stay_connected(
    socket: session::Socket,
    welcome: Welcome,
    desk: &Arc<Desk>,
) -> (Ended, Option<Duration>) {
    tracing::info!(
        contact.id = %welcome.contact_id, connection.id = %welcome.connection_id,
        "connected to the relay"
    );
    desk.connected(welcome.clone());
    let (ended, asked_pause) = session::run(socket, &welcome, desk).await;
    desk.disconnected();
    if let Ended::Lost(why) = &ended {
        tracing::warn!(%why, "lost the connection to the relay");
    }
    (ended, asked_pause)
}
