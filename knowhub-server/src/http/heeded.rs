//! Refuses what a call would ignore although its sender relies on it: conditions on a version, and misspelt parameters.
//!
//! What each call heeds is read off the OpenAPI document, which the handlers' own descriptions make.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, header},
    middleware::Next,
    response::Response,
};
use protocol::hub::FieldFault;
use utoipa::openapi::{OpenApi, RefOr, path::ParameterIn};

use super::{Error, openapi::operations, params::Params};

/// Headers that make a call depend on what is stored.
const CONDITIONS: [HeaderName; 2] = [header::IF_MATCH, header::IF_NONE_MATCH];

/// What is read there is stored elsewhere, and nobody should take all for the part that they asked for.
const EXPORT_PATH: &str = "/api/export";

/// The headers and query parameters that each call takes, by its method and its path in the router; clones share them.
#[derive(Clone)]
pub(super) struct Heeded(Arc<HashMap<String, Vec<String>>>);

impl Heeded {
    /// Reads them off the document, as long as its paths are those of the router.
    pub(super) fn of(document: &mut OpenApi) -> Self {
        let mut heeded = HashMap::new();
        for (path, item) in &mut document.paths.paths {
            for (method, operation) in operations(item) {
                let names = operation.parameters.iter().flatten().filter_map(|one| match one {
                    RefOr::T(one) if one.parameter_in != ParameterIn::Path => {
                        Some(one.name.clone())
                    }
                    _ => None,
                });
                heeded.insert(format!("{method} {path}"), names.collect());
            }
        }
        Self(Arc::new(heeded))
    }
}

/// Lets a call run unless it says something that the call does not heed.
///
/// Calls that only read may be asked anything: caches send conditions of their own, and nothing is lost.
pub(super) async fn refuse_unheeded(
    State(Heeded(heeded)): State<Heeded>,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let (method, path) = (request.method(), request.extensions().get::<MatchedPath>());
    let path = path.map_or("", MatchedPath::as_str);
    if !method.is_safe() || path == EXPORT_PATH {
        // A method that the path does not take is told so behind this.
        if let Some(known) = heeded.get(&format!("{method} {path}")) {
            check(&request, known).map_err(Error::Invalid)?;
        }
    }
    Ok(next.run(request).await)
}

fn check(request: &Request, known: &[String]) -> Result<(), FieldFault> {
    let is_unknown = |name: &str| !known.iter().any(|one| one == name);
    for condition in CONDITIONS {
        let is_sent = request.headers().contains_key(&condition);
        if is_sent && !request.method().is_safe() && is_unknown(condition.as_str()) {
            let reason = "this call compares no version with it; leave the header out";
            return Err(FieldFault::new(condition.as_str(), reason));
        }
    }
    let params = Params::parse(request.uri().query().unwrap_or_default())?;
    match params.names().find(|name| is_unknown(name)) {
        Some(name) => Err(FieldFault::new(name, "this call takes no such query parameter")),
        None => Ok(()),
    }
}
