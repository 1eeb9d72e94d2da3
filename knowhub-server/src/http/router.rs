//! All routes of the hub; `docs/knowhub-api.md` tells what each means.

use axum::{
    Router,
    http::{Method, Uri},
    middleware,
    routing::{get, post},
};
use service::http::health_routes;

use super::{Error, Handles, experiences, knowledge, request};

/// Returns the whole API; `GET /healthz` and `GET /readyz` are those of every daemon.
pub(crate) fn router(handles: Handles) -> Router {
    let search = handles.search.clone();
    Router::new()
        .route("/api/experience", post(experiences::create_experience))
        .route("/api/search", get(experiences::search_experiences))
        .route("/api/knowledge", post(knowledge::create_knowledge))
        .route("/api/knowledge/search", get(knowledge::search_knowledge))
        .route("/api/knowledge/{id}", get(knowledge::show_knowledge))
        .with_state(handles)
        .merge(health_routes(move || search.ready()))
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn(request::observe))
}

async fn unknown_route(uri: Uri) -> Error {
    Error::NoRoute { path: uri.path().to_owned() }
}

async fn wrong_method(method: Method, uri: Uri) -> Error {
    Error::WrongMethod { method, path: uri.path().to_owned() }
}
