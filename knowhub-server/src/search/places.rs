//! How many searches run at once, so that a crowd waits in line instead of slowing each other down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Error;
use crate::blocking::Waiting;

/// How many searches run for each processor; a search waits for the disk now and then.
const RUNNING_PER_CPU: usize = 4;

/// How many searches may wait for a place; whoever comes then is told to try again.
const MAX_WAITING: usize = 1_024;

/// The places in which searches run; clones share them.
#[derive(Clone)]
pub(super) struct Places {
    shared: Arc<Shared>,
}

struct Shared {
    count: usize,
    free: Semaphore,
    waiting: AtomicUsize,
}

impl Places {
    /// Makes as many places as this machine can use.
    pub(super) fn new() -> Self {
        Self::with_count(RUNNING_PER_CPU * thread::available_parallelism().map_or(1, Into::into))
    }

    fn with_count(count: usize) -> Self {
        let waiting = AtomicUsize::new(0);
        Self { shared: Arc::new(Shared { count, free: Semaphore::new(count), waiting }) }
    }

    /// Waits for a place, in the order of coming; fails when too many wait already.
    pub(super) async fn take(&self) -> Result<SemaphorePermit<'_>, Error> {
        let shared = &*self.shared;
        if let Ok(place) = shared.free.try_acquire() {
            return Ok(place);
        }
        let waiting = Waiting::new(&shared.waiting);
        if waiting.number > MAX_WAITING {
            return Err(Error::Crowded);
        }
        Ok(shared.free.acquire().await.expect("the semaphore is never closed"))
    }

    /// Returns how many searches run and how many wait.
    pub(super) fn load(&self) -> (usize, usize) {
        let shared = &*self.shared;
        let running = shared.count - shared.free.available_permits();
        (running, shared.waiting.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        task::{Context, Poll, Waker},
    };

    use super::*;

    #[test]
    fn a_crowd_waits_in_line_and_its_end_is_sent_away() {
        let places = Places::with_count(1);
        let mut waits = Context::from_waker(Waker::noop());
        let mut first = Box::pin(places.take());
        let Poll::Ready(Ok(place)) = first.as_mut().poll(&mut waits) else { panic!("it is free") };
        let mut line: Vec<_> = (0..MAX_WAITING).map(|_| Box::pin(places.take())).collect();
        for one in &mut line {
            assert!(one.as_mut().poll(&mut waits).is_pending());
        }
        assert_eq!(places.load(), (1, MAX_WAITING));
        let mut last = Box::pin(places.take());
        assert!(matches!(last.as_mut().poll(&mut waits), Poll::Ready(Err(Error::Crowded))));

        drop(line.pop());
        drop(place);
        let Poll::Ready(Ok(_place)) = line[0].as_mut().poll(&mut waits) else { panic!("its turn") };
        assert!(line[1].as_mut().poll(&mut waits).is_pending());
        assert_eq!(places.load(), (1, MAX_WAITING - 2));
    }
}
