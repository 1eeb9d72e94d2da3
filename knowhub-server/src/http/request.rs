//! Around every request: its id, its log line, and a net under its handler.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use protocol::hub::ErrorCode;
use service::http::{REQUEST_ID, request_id};
use tokio::time::Instant;
use tracing::{Instrument, field};

use super::Error;
use crate::metrics::Metrics;

/// Gives the request an id, logs and counts how it ended, and turns a panic into an answer.
///
/// Neither the path nor the query string is logged: they hold what people look for.
pub(super) async fn observe(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str).to_owned();
    let started = Instant::now();
    let span = tracing::info_span!(
        "request",
        request.id = id.to_str().unwrap_or_default(),
        principal = field::Empty
    );
    async move {
        let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|_| Error::Panicked.into_response());
        response.headers_mut().insert(REQUEST_ID, id);
        let code = response.extensions().get::<ErrorCode>().copied();
        if let Some(code) = code {
            metrics.refused(code);
        }
        let status = response.status().as_u16();
        let duration_ms = started.elapsed().as_secs_f64() * 1_000.0;
        // Whoever watches the hub asks for the other routes all the time.
        if route.starts_with("/api/") || code.is_some() {
            tracing::info!(%method, route, status, duration_ms, "answered");
        } else {
            tracing::debug!(%method, route, status, duration_ms, "answered");
        }
        response
    }
    .instrument(span)
    .await
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware, routing::get};
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_without_its_text() {
        async fn panics() {
            panic!("a secret of the hub");
        }
        let observed = middleware::from_fn_with_state(Arc::<Metrics>::default(), observe);
        let router = Router::new().route("/", get(panics)).layer(observed);
        let request = Request::get("/").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        assert!(response.headers().contains_key(REQUEST_ID));
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("\"internal\"") && !body.contains("secret"), "{body}");
    }
}
