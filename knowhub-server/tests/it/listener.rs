//! The hub behind its own listener: guarded, and stopped without losing a request.

use knowhub_server::serve;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use crate::harness::config;

#[tokio::test]
async fn serves_guarded_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let settings = config(&folder);
    let serving = tokio::spawn({
        let stop = stop.clone();
        async move { serve(listener, &settings, stop).await }
    });

    let ask = async |headers: &str| {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert!(ask("host: localhost\r\n").await.starts_with("HTTP/1.1 200"));
    let foreign = ask("host: evil.example\r\n").await;
    assert!(foreign.starts_with("HTTP/1.1 403") && foreign.contains("\"forbidden\""), "{foreign}");
    let page = ask("host: localhost\r\norigin: https://evil.example\r\n").await;
    assert!(page.starts_with("HTTP/1.1 403") && page.contains("x-request-id: "), "{page}");
    assert!(!page.contains("access-control-"), "{page}");
    let own = ask("host: localhost:1\r\norigin: http://localhost:1\r\n").await;
    assert!(own.starts_with("HTTP/1.1 200"), "{own}");

    stop.cancel();
    serving.await.unwrap().unwrap();
    assert!(TcpStream::connect(addr).await.is_err(), "nobody listens any more");
    knowhub_server::Hub::open(&config(&folder)).unwrap().close().await;
}
