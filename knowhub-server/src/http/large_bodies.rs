//! How many large bodies are in memory at once, however many connections bring one.

use std::{sync::Arc, time::Duration};

use axum::{
    body::HttpBody,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use tokio::sync::Semaphore;

use super::Error;

/// A body up to this size needs no place: all connections together bring no more than 64 MiB of them.
const SMALL_BODY_BYTES: u64 = 16 * 1024;

/// How many requests with a larger body, or one of unknown size, run at once; further ones wait for a place.
///
/// Each body is bounded on its own, so these take 64 MiB as they come, and a few times that once they are read.
const MAX_LARGE_BODIES: usize = 64;

/// How long a request waits for a place before it is told to come again.
const PLACE_PATIENCE: Duration = Duration::from_secs(10);

/// The places for requests with a large body; clones share them.
#[derive(Clone)]
pub(super) struct LargeBodies(Arc<Semaphore>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LARGE_BODIES)))
    }
}

/// Runs the request; one with a large body waits until there is a place for it, unread.
pub(super) async fn take_turns(
    State(LargeBodies(places)): State<LargeBodies>,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let size_bytes = request.body().size_hint().upper();
    if size_bytes.is_some_and(|size_bytes| size_bytes <= SMALL_BODY_BYTES) {
        return Ok(next.run(request).await);
    }
    let place = tokio::time::timeout(PLACE_PATIENCE, places.acquire()).await;
    let _place =
        place.map_err(|_| Error::Crowded)?.expect("the semaphore of places is never closed");
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::{Router, body::Body, middleware, routing::post};
    use futures_util::future::join_all;
    use tower::ServiceExt;

    use super::*;

    async fn read(body: Body) {
        axum::body::to_bytes(body, usize::MAX).await.expect("this body does not fail");
    }

    /// Returns a request whose body is of unknown size and ends when there is a permit.
    fn slow(ends: &Arc<Semaphore>) -> Request {
        let ends = Arc::clone(ends);
        let end = async move {
            ends.acquire().await.expect("it is not closed").forget();
            Ok::<_, Infallible>("x")
        };
        Request::post("/").body(Body::from_stream(futures_util::stream::once(end))).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_wait_for_a_place_and_small_ones_do_not() {
        let (bodies, ends) = (LargeBodies::default(), Arc::new(Semaphore::new(0)));
        let layer = middleware::from_fn_with_state(bodies.clone(), take_turns);
        let router = Router::new().route("/", post(read)).layer(layer);
        let ask = |request: Request| {
            let router = router.clone();
            async move { router.oneshot(request).await.unwrap().status().as_u16() }
        };
        let holding: Vec<_> =
            (0..MAX_LARGE_BODIES).map(|_| tokio::spawn(ask(slow(&ends)))).collect();
        while bodies.0.available_permits() > 0 {
            tokio::task::yield_now().await;
        }

        assert_eq!(ask(Request::post("/").body(Body::from("small")).unwrap()).await, 200);
        let large = Body::from(vec![b'x'; SMALL_BODY_BYTES as usize + 1]);
        assert_eq!(ask(Request::post("/").body(large).unwrap()).await, 503, "there is no place");

        ends.add_permits(MAX_LARGE_BODIES + 1);
        assert_eq!(ask(slow(&ends)).await, 200, "there are places again");
        assert!(join_all(holding).await.into_iter().all(|status| status.unwrap() == 200));
    }
}
