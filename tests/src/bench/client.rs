//! One keep-alive HTTP connection that costs little next to what it measures.

use std::{fmt::Write, net::SocketAddr};

use anyhow::{Context, Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A connection; requests go one after the other.
pub struct Client {
    stream: TcpStream,
    host: String,
    received: Vec<u8>,
}

/// What was answered.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects to a server.
    pub async fn connect(addr: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(addr).await.context("connecting")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: addr.to_string(), received: Vec::new() })
    }

    /// Sends a GET with these query parameters and reads the answer.
    pub async fn get(&mut self, path: &str, params: &[(&str, &str)]) -> Result<Answer> {
        let mut target = path.to_owned();
        for (index, (name, value)) in params.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            write!(target, "{separator}{name}=")?;
            for byte in value.bytes() {
                write!(target, "%{byte:02X}")?;
            }
        }
        let head = format!("GET {target} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.exchange(head.into_bytes()).await
    }

    /// Sends a POST with a JSON body and reads the answer.
    pub async fn post(&mut self, path: &str, body: &[u8]) -> Result<Answer> {
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.exchange(request).await
    }

    async fn exchange(&mut self, request: Vec<u8>) -> Result<Answer> {
        self.stream.write_all(&request).await?;
        self.received.clear();
        loop {
            if let Some(answer) = self.answer()? {
                return Ok(answer);
            }
            let read = self.stream.read_buf(&mut self.received).await?;
            ensure!(read > 0, "the server closed the connection");
        }
    }

    /// Returns the answer once all of it is here.
    fn answer(&self) -> Result<Option<Answer>> {
        let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&self.received[..end])?;
        let status = head.get(9..12).context("a status line has a code")?.parse()?;
        let Some(length) = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        }) else {
            bail!("an answer without its length: {head}");
        };
        let body = &self.received[end + 4..];
        Ok((body.len() >= length?).then(|| Answer { status, body: body.to_vec() }))
    }
}
