//! Signs of life on a socket: bytes that come in, and bytes that get out after they had to wait.
//!
//! A client that is busy taking in a large message cannot answer a ping behind it, but its socket moves.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Tells whether the peer of a [`Metered`] socket lives.
#[derive(Debug)]
pub(super) struct Meter(Arc<AtomicBool>);

impl Meter {
    /// Returns whether there was a sign of life since the last call.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// A socket that notes signs of life.
#[derive(Debug)]
pub(super) struct Metered<S> {
    inner: S,
    /// The last write had to wait, so that the next success means that the peer took something.
    was_blocked: bool,
    alive: Arc<AtomicBool>,
}

impl<S> Metered<S> {
    pub(super) fn new(inner: S) -> (Self, Meter) {
        let alive = Arc::new(AtomicBool::new(false));
        (Self { inner, was_blocked: false, alive: Arc::clone(&alive) }, Meter(alive))
    }

    fn beat(&self) {
        self.alive.store(true, Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.beat();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        match &written {
            Poll::Pending => self.was_blocked = true,
            Poll::Ready(Ok(_)) if self.was_blocked => {
                self.was_blocked = false;
                self.beat();
            }
            Poll::Ready(_) => {}
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
