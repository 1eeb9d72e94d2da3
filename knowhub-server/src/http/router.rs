//! All routes of the hub; `docs/knowhub-api.md` tells what each means.

use axum::{
    Router,
    http::{Method, Uri},
    middleware,
};
use protocol::hub::EmbeddingProgress;
use serde::Serialize;
use service::{http::health_routes, metrics::RequestMetrics};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Error, Handles, calibration,
    caller::authenticate,
    contents,
    cors::cors,
    demand, embeddings, experiences,
    heeded::{Heeded, refuse_unheeded},
    knowledge,
    large_bodies::{LargeBodies, take_turns},
    metrics, openapi, request, reseal, resources, transfer, whoami,
};

/// Returns the whole API, which pages of `origins` may read; `GET /healthz` and `GET /readyz` are those of every daemon.
pub(crate) fn router(handles: Handles, origins: &[String]) -> Router {
    let (search, store) = (handles.search.clone(), handles.store.clone());
    let gate = handles.gate.clone();
    let counts = handles.metrics.clone();
    let (routes, mut document) = OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(experiences::create_experience))
        .routes(routes!(experiences::search_experiences))
        .routes(routes!(experiences::show_experience, experiences::delete_experience))
        .routes(routes!(experiences::list_experience_versions))
        .routes(routes!(knowledge::create_knowledge, knowledge::list::list_knowledge))
        .routes(routes!(knowledge::search_knowledge))
        .routes(routes!(
            knowledge::show_knowledge,
            knowledge::change::update_knowledge,
            knowledge::change::patch_knowledge,
            knowledge::change::delete_knowledge
        ))
        .routes(routes!(knowledge::change::verify_knowledge))
        .routes(routes!(knowledge::slim::slim_knowledge))
        .routes(routes!(knowledge::merge::undo_merge))
        .routes(routes!(knowledge::merge::show_processing))
        .routes(routes!(
            knowledge::change::create_relationship,
            knowledge::change::delete_relationship
        ))
        .routes(routes!(knowledge::history::list_feedback))
        .routes(routes!(knowledge::history::list_knowledge_versions))
        .routes(routes!(knowledge::batch::batch_verify))
        .routes(routes!(knowledge::batch::batch_update))
        .routes(routes!(knowledge::batch::batch_delete))
        .routes(routes!(knowledge::batch::create_evaluations))
        .routes(routes!(resources::list_resources, resources::save_resource))
        .routes(routes!(
            resources::show_resource,
            resources::patch_resource,
            resources::delete_resource
        ))
        .routes(routes!(resources::list_resource_versions))
        .routes(routes!(contents::save_content))
        .routes(routes!(contents::show_content))
        .routes(routes!(reseal::reseal_secrets))
        .routes(routes!(demand::list_demand))
        .routes(routes!(embeddings::show_embeddings))
        .routes(routes!(calibration::show_calibration))
        .routes(routes!(whoami::show_caller))
        .routes(routes!(metrics::show_metrics))
        .routes(routes!(transfer::export_all))
        .routes(routes!(transfer::import_all))
        .with_state(handles)
        .split_for_parts();
    let heeded = Heeded::of(&mut document);
    // OpenAPI has no word for a parameter that spans slashes.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths =
        paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    // Whatever is merged behind this line is open to everybody.
    let routes = routes
        .route_layer(middleware::from_fn_with_state(LargeBodies::default(), take_turns))
        .route_layer(middleware::from_fn_with_state(heeded, refuse_unheeded))
        .route_layer(middleware::from_fn_with_state(gate, authenticate))
        .merge(openapi::routes(document))
        .merge(health_routes(move || {
            search.ready()?;
            store.ready()?;
            Ok(Details { embedding: search.embedding_progress() })
        }))
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method);
    // Without listed origins an OPTIONS request is a method that no route takes.
    let routes = if origins.is_empty() { routes } else { routes.layer(cors(origins)) };
    routes
        .layer(middleware::from_fn_with_state(counts.clone(), request::observe))
        .layer(middleware::from_fn_with_state(counts.requests.clone(), RequestMetrics::measure))
}

/// What `GET /readyz` tells beside the status.
#[derive(Serialize)]
struct Details {
    embedding: EmbeddingProgress,
}

async fn unknown_route(uri: Uri) -> Error {
    Error::NoRoute { path: uri.path().to_owned() }
}

async fn wrong_method(method: Method, uri: Uri) -> Error {
    Error::WrongMethod { method, path: uri.path().to_owned() }
}
