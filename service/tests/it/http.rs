//! What half-open, foreign and late requests meet.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, routing::get};
use service::http::{Guard, bind, health_routes, require_loopback, serve};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

struct Harness {
    addr: SocketAddr,
    stop: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

async fn start(router: Router) -> Harness {
    let listener = bind("TEST_ADDR", "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, router, Guard::default(), stop.clone()));
    Harness { addr, stop, server }
}

impl Harness {
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn get(&self, path: &str, headers: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n\r\n");
        read_all(self.send(&request).await).await
    }

    async fn stop(self) {
        self.stop.cancel();
        self.server.await.unwrap().unwrap();
    }
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn health_is_told_and_foreign_requests_are_refused() {
    let harness = start(health_routes(|| Err::<(), _>("the disk is full".into()))).await;
    let healthz = harness.get("/healthz", "host: localhost").await;
    assert!(healthz.starts_with("HTTP/1.1 200") && healthz.ends_with(r#"{"status":"ok"}"#));
    let readyz = harness.get("/readyz", "host: localhost").await;
    assert!(readyz.starts_with("HTTP/1.1 503") && readyz.contains("the disk is full"), "{readyz}");
    for (field, headers) in [
        ("Host", "host: evil.example"),
        ("Origin", "host: localhost\r\norigin: https://evil.example"),
    ] {
        let refused = harness.get("/healthz", headers).await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
        assert!(refused.contains(r#""code":"forbidden""#), "{refused}");
        assert!(refused.contains(&format!(r#""field":"{field}""#)), "{refused}");
        assert!(refused.contains("x-request-id: "), "{refused}");
    }
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn half_a_request_is_dropped_and_holds_up_nobody() {
    let harness = start(health_routes(|| Ok(()))).await;
    let mut halves = Vec::new();
    for _ in 0..100 {
        halves.push(harness.send("GET /healthz HTTP/1.1\r\nhost: loc").await);
    }
    assert!(harness.get("/healthz", "host: localhost").await.starts_with("HTTP/1.1 200"));
    for half in halves {
        // Ends when the server hangs up, with or without a 408.
        let answer = read_all(half).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    harness.stop().await;
}

#[tokio::test]
async fn a_running_request_is_finished_at_the_stop() {
    static STARTED: Notify = Notify::const_new();
    static FINISH: Notify = Notify::const_new();
    let slow = get(async || {
        STARTED.notify_one();
        FINISH.notified().await;
        "finished"
    });
    let harness = start(Router::new().route("/slow", slow)).await;
    let request = harness.send("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    STARTED.notified().await;
    harness.stop.cancel();
    FINISH.notify_one();
    assert!(read_all(request).await.ends_with("finished"));
    harness.server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_does_not_hold_the_stop_for_ever() {
    static STARTED: Notify = Notify::const_new();
    let stuck = get(async || {
        STARTED.notify_one();
        std::future::pending::<&str>().await
    });
    let harness = start(Router::new().route("/stuck", stuck)).await;
    let _request = harness.send("GET /stuck HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    STARTED.notified().await;
    let asked = tokio::time::Instant::now();
    harness.stop().await;
    assert!(asked.elapsed() <= Duration::from_secs(11));
}

#[tokio::test]
async fn an_address_that_cannot_be_used_names_the_setting() {
    let taken = bind("TEST_ADDR", "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let err = bind("TEST_ADDR", taken.local_addr().unwrap()).await.unwrap_err().to_string();
    assert!(err.contains("set TEST_ADDR to a free address"), "{err}");

    let open = "0.0.0.0:80".parse().unwrap();
    let err = require_loopback("TEST_ADDR", open, None).unwrap_err().to_string();
    assert!(err.contains("TEST_ADDR=0.0.0.0:80") && !err.contains("set TEST"), "{err}");
    let err = require_loopback("TEST_ADDR", open, Some("TEST_TOKENS")).unwrap_err().to_string();
    assert!(err.contains("set TEST_TOKENS, or use a loopback address"), "{err}");
    require_loopback("TEST_ADDR", "[::1]:80".parse().unwrap(), None).unwrap();
}
