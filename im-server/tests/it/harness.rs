//! Starts a relay on a free port over a scratch folder, and speaks to it in raw frames.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Parser;
use futures_util::{SinkExt, StreamExt};
use im_server::Config;
use protocol::{
    MessageId,
    im::{
        Accepted, Ack, ClientFrame, Error, Message, Mode, Nak, Notice, Send, ServerFrame, Welcome,
        Working,
    },
};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, client::IntoClientRequest, protocol::CloseFrame},
};
use tokio_util::sync::CancellationToken;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running relay and the folder of its store.
pub(crate) struct Relay {
    pub(crate) addr: SocketAddr,
    folder: TempDir,
    flags: Vec<String>,
    stop: CancellationToken,
    server: JoinHandle<Result<(), im_server::Error>>,
}

impl Relay {
    /// Starts a relay with these flags besides the defaults.
    pub(crate) async fn start(flags: &[&str]) -> Self {
        let folder = TempDir::new().expect("a scratch folder");
        Self::start_in(folder, flags.iter().map(ToString::to_string).collect()).await
    }

    async fn start_in(folder: TempDir, flags: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("a bound listener");
        let stop = CancellationToken::new();
        let config = config(&folder.path().join("data/im.db"), &flags);
        let server = tokio::spawn(im_server::serve(listener, config, stop.clone()));
        Self { addr, folder, flags, stop, server }
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.path().join("data/im.db")
    }

    /// Asks the relay to stop, without waiting for it.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Stops the relay; returns the folder of its store.
    pub(crate) async fn stop(self) -> TempDir {
        self.stop.cancel();
        let ended = timeout(PATIENCE, self.server).await.expect("the relay stops in time");
        ended.expect("no panic").expect("a clean stop");
        self.folder
    }

    /// Stops the relay and starts another one over the same store.
    pub(crate) async fn restart(self) -> Self {
        let flags = self.flags.clone();
        Self::start_in(self.stop().await, flags).await
    }

    /// Opens a WebSocket without saying hello.
    pub(crate) async fn open(&self) -> Client {
        let stream = TcpStream::connect(self.addr).await.expect("the relay listens");
        let request = format!("ws://{}/ws", self.addr).into_client_request().expect("a URL");
        let (socket, _) = client_async(request, stream).await.expect("the relay upgrades");
        Client { socket }
    }

    /// Connects as an exclusive contact.
    pub(crate) async fn connect(&self, contact: &str) -> Client {
        self.connect_as(contact, Mode::Exclusive).await.0
    }

    /// Connects in a mode, and returns the welcome too.
    pub(crate) async fn connect_as(&self, contact: &str, mode: Mode) -> (Client, Welcome) {
        let mut client = self.open().await;
        client.say(hello(contact, mode)).await;
        match client.hear().await {
            ServerFrame::Welcome(welcome) => (client, welcome),
            other => panic!("expected a welcome, got {other:?}"),
        }
    }
}

/// Returns a relay's settings, as from a command line.
pub(crate) fn config(db: &Path, flags: &[String]) -> Config {
    let db = db.to_str().expect("a path in UTF-8").to_owned();
    let args = ["im-server".to_owned(), "--im-db".to_owned(), db];
    Config::try_parse_from(args.into_iter().chain(flags.iter().cloned())).expect("valid flags")
}

/// One client; panics on whatever the test does not expect.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<TcpStream>,
}

impl Client {
    pub(crate) async fn say(&mut self, frame: ClientFrame) {
        self.say_raw(&frame.to_json()).await;
    }

    pub(crate) async fn say_raw(&mut self, text: &str) {
        self.put(tungstenite::Message::text(text)).await;
    }

    pub(crate) async fn put(&mut self, message: tungstenite::Message) {
        self.socket.send(message).await.expect("the relay reads");
    }

    /// Returns the next frame.
    pub(crate) async fn hear(&mut self) -> ServerFrame {
        match self.next().await {
            Some(Ok(tungstenite::Message::Text(text))) => {
                ServerFrame::parse(&text).expect("a frame")
            }
            other => panic!("expected a frame, got {other:?}"),
        }
    }

    /// Waits for the close frame; returns its code.
    pub(crate) async fn hear_close(&mut self) -> u16 {
        match self.next().await {
            Some(Ok(tungstenite::Message::Close(Some(CloseFrame { code, .. })))) => code.into(),
            other => panic!("expected a close frame, got {other:?}"),
        }
    }

    async fn next(&mut self) -> Option<tungstenite::Result<tungstenite::Message>> {
        loop {
            let next =
                timeout(PATIENCE, self.socket.next()).await.expect("the relay says something");
            if !matches!(next, Some(Ok(tungstenite::Message::Ping(_)))) {
                return next;
            }
        }
    }

    pub(crate) async fn hear_message(&mut self) -> Message {
        match self.hear().await {
            ServerFrame::Message(message) => message,
            other => panic!("expected a message, got {other:?}"),
        }
    }

    pub(crate) async fn hear_accepted(&mut self) -> Accepted {
        match self.hear().await {
            ServerFrame::Accepted(accepted) => accepted,
            other => panic!("expected accepted, got {other:?}"),
        }
    }

    pub(crate) async fn hear_error(&mut self) -> Error {
        match self.hear().await {
            ServerFrame::Error(error) => error,
            other => panic!("expected an error, got {other:?}"),
        }
    }

    pub(crate) async fn hear_notice(&mut self) -> Notice {
        match self.hear().await {
            ServerFrame::Notice(notice) => notice,
            other => panic!("expected a notice, got {other:?}"),
        }
    }

    /// Hands over a message and waits until it is accepted.
    pub(crate) async fn send(&mut self, send: Send) -> Accepted {
        self.say(ClientFrame::Send(send)).await;
        self.hear_accepted().await
    }

    pub(crate) async fn ack(&mut self, seqs: &[u64]) {
        self.say(ClientFrame::Ack(Ack { seqs: seqs.to_vec() })).await;
    }

    pub(crate) async fn working(&mut self, seqs: &[u64]) {
        self.say(ClientFrame::Working(Working { seqs: seqs.to_vec() })).await;
    }

    pub(crate) async fn nak(&mut self, seqs: &[u64], delay_ms: Option<u64>) {
        self.say(ClientFrame::Nak(Nak { seqs: seqs.to_vec(), delay_ms })).await;
    }

    /// Waits until all that was said before is dealt with, and nothing else came back.
    pub(crate) async fn settle(&mut self) {
        self.say(ClientFrame::Contacts).await;
        match self.hear().await {
            ServerFrame::Contacts(_) => {}
            other => panic!("expected contacts, got {other:?}"),
        }
    }

    /// Leaves with a close frame, and waits for the answer.
    pub(crate) async fn leave(mut self) {
        self.socket.close(None).await.expect("the relay reads");
        while let Some(Ok(_)) = self.next().await {}
    }
}

pub(crate) fn hello(contact: &str, mode: Mode) -> ClientFrame {
    ClientFrame::Hello(protocol::im::Hello {
        v: 1,
        contact_id: contact.parse().expect("a contact id"),
        token: None,
        mode,
        client: Some("test".to_owned()),
    })
}

/// Returns a message without anything optional.
pub(crate) fn message(to: &str, content: &str) -> Send {
    Send {
        id: MessageId::random(),
        to: to.parse().expect("a contact id"),
        content: content.to_owned(),
        chat_id: None,
        in_reply_to: None,
        ttl_ms: None,
        meta: None,
    }
}
