//! A relay that says exactly what a test lets it say.

use std::time::Duration;

use agent_tools::im::{Client, Config, Inbox, Outgoing, State};
use futures_util::{SinkExt, StreamExt};
use protocol::{
    ContactId, MessageId, Timestamp,
    im::{
        self, Accepted, ClientFrame, Error, ErrorCode, Hello, Limits, Recipient, ServerFrame,
        Welcome,
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
        protocol::CloseFrame,
    },
};

/// Long enough for anything that happens at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A patience that nothing uses up which happens at once, however busy the machine is.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// The one whom the tests write to.
pub(crate) fn librarian() -> ContactId {
    "knowledge_manager".parse().unwrap()
}

/// A listening relay; each connection is taken by hand.
pub(crate) struct Relay {
    listener: TcpListener,
    pub(crate) url: String,
    heartbeat_ms: u64,
}

impl Relay {
    pub(crate) async fn start() -> Self {
        Self::with_heartbeat(20_000).await
    }

    pub(crate) async fn with_heartbeat(heartbeat_ms: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/ws", listener.local_addr().unwrap());
        Self { listener, url, heartbeat_ms }
    }

    /// Starts at the address of one that is gone.
    pub(crate) async fn at(url: &str) -> Self {
        let addr = url.trim_start_matches("ws://").trim_end_matches("/ws");
        let listener = TcpListener::bind(addr).await.unwrap();
        Self { listener, url: url.to_owned(), heartbeat_ms: 20_000 }
    }

    pub(crate) fn config(&self) -> Config {
        config(self.url.clone())
    }

    /// Starts a client, and takes its connection.
    pub(crate) async fn connect(&self) -> (Client, Inbox, Peer) {
        let (client, inbox) = Client::start(self.config());
        let peer = self.accept().await;
        (client, inbox, peer)
    }

    /// Takes one connection, up to the welcome.
    pub(crate) async fn accept(&self) -> Peer {
        let mut peer = self.accept_silently().await;
        let welcome = Welcome {
            v: im::VERSION,
            contact_id: peer.hello.contact_id.clone(),
            connection_id: "c1".to_owned(),
            heartbeat_ms: self.heartbeat_ms,
            limits: Limits {
                max_content_bytes: 1000,
                max_in_flight: 4,
                max_mailbox: 10,
                ack_wait_ms: 60_000,
            },
        };
        peer.say(ServerFrame::Welcome(welcome)).await;
        peer
    }

    /// Takes one connection, up to its hello.
    pub(crate) async fn accept_silently(&self) -> Peer {
        let (stream, _) = timeout(PATIENCE, self.listener.accept()).await.unwrap().unwrap();
        let socket = accept_hdr_async(stream, choose_subprotocol).await.unwrap();
        let mut peer = Peer { socket, hello: hello_of_nobody() };
        match peer.hear().await {
            ClientFrame::Hello(hello) => peer.hello = hello,
            other => panic!("expected hello, got {other:?}"),
        }
        peer
    }
}

#[expect(clippy::result_large_err, reason = "the handshake's callback has this shape")]
#[expect(clippy::unnecessary_wraps, reason = "the handshake's callback has this shape")]
fn choose_subprotocol(
    request: &Request,
    mut response: Response,
) -> Result<Response, ErrorResponse> {
    let offered = request.headers()["sec-websocket-protocol"].clone();
    assert_eq!(offered, im::SUBPROTOCOL);
    response.headers_mut().insert("sec-websocket-protocol", offered);
    Ok(response)
}

fn hello_of_nobody() -> Hello {
    let contact_id = "nobody".parse().unwrap();
    Hello { v: 0, contact_id, token: None, mode: im::Mode::Shared, client: None }
}

pub(crate) fn config(url: String) -> Config {
    Config {
        url,
        contact_id: "agent/test".parse().unwrap(),
        token: Some("secret".into()),
        mode: im::Mode::Exclusive,
        client: "test".to_owned(),
    }
}

/// An address where nobody listens.
pub(crate) async fn dead_url() -> String {
    let relay = Relay::start().await;
    relay.url
}

/// The relay's end of one connection.
pub(crate) struct Peer {
    socket: WebSocketStream<TcpStream>,
    pub(crate) hello: Hello,
}

impl Peer {
    pub(crate) async fn say(&mut self, frame: ServerFrame) {
        self.socket.send(Message::text(frame.to_json())).await.unwrap();
    }

    /// Returns the client's next frame.
    pub(crate) async fn hear(&mut self) -> ClientFrame {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.unwrap().unwrap().unwrap() {
                Message::Text(text) => return ClientFrame::parse(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected a text frame, got {other:?}"),
            }
        }
    }

    pub(crate) async fn hear_send(&mut self) -> im::Send {
        match self.hear().await {
            ClientFrame::Send(send) => send,
            other => panic!("expected send, got {other:?}"),
        }
    }

    pub(crate) async fn hear_ack(&mut self) -> Vec<u64> {
        match self.hear().await {
            ClientFrame::Ack(ack) => ack.seqs,
            other => panic!("expected ack, got {other:?}"),
        }
    }

    /// Returns the code of the close frame that comes next.
    pub(crate) async fn hear_close(&mut self) -> u16 {
        match timeout(PATIENCE, self.socket.next()).await.unwrap() {
            Some(Ok(Message::Close(Some(frame)))) => frame.code.into(),
            other => panic!("expected a close frame, got {other:?}"),
        }
    }

    pub(crate) async fn accept(&mut self, send: &im::Send, recipient: Recipient) {
        let accepted = Accepted { id: send.id, duplicate: false, recipient };
        self.say(ServerFrame::Accepted(accepted)).await;
    }

    pub(crate) async fn refuse(&mut self, id: MessageId, code: ErrorCode, retry_after_ms: u64) {
        let message = "refused by the script".to_owned();
        let error = Error { code, message, id: Some(id), retry_after_ms: Some(retry_after_ms) };
        self.say(ServerFrame::Error(error)).await;
    }

    pub(crate) async fn deliver(&mut self, message: im::Message) {
        self.say(ServerFrame::Message(message)).await;
    }

    pub(crate) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "script".into() };
        self.socket.close(Some(frame)).await.unwrap();
        // Reading on carries the closing handshake out.
        while let Some(Ok(_)) = self.socket.next().await {}
    }
}

/// Returns the reply that a correct librarian gives.
pub(crate) fn reply(seq: u64, to: &im::Send, content: &str) -> im::Message {
    im::Message {
        seq,
        id: MessageId::random(),
        from: to.to.clone(),
        to: "agent/test".parse().unwrap(),
        content: content.to_owned(),
        chat_id: to.chat_id.clone(),
        in_reply_to: Some(to.id),
        meta: None,
        sent_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(0),
        attempt: 1,
    }
}

/// Returns a message that answers nothing.
pub(crate) fn news(seq: u64, content: &str) -> im::Message {
    let send = Outgoing::new(librarian(), content);
    let nothing = im::Send {
        id: send.id,
        to: send.to,
        content: String::new(),
        chat_id: None,
        in_reply_to: None,
        ttl_ms: None,
        meta: None,
    };
    im::Message { in_reply_to: None, ..reply(seq, &nothing, content) }
}

/// Waits until the client is in such a state.
pub(crate) async fn until(client: &Client, is_right: impl FnMut(&State) -> bool) -> State {
    let mut state = client.state();
    timeout(PATIENCE, state.wait_for(is_right)).await.unwrap().unwrap().clone()
}
