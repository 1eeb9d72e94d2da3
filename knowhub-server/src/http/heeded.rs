//! Refuses what a call would ignore although its sender relies on it: conditions on a version, and misspelt parameters.
//!
//! What each call heeds is read off the OpenAPI document, which the handlers' own descriptions make.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, Method, header},
    middleware::Next,
    response::Response,
};
use protocol::hub::FieldFault;
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, Parameter, ParameterIn},
};

use super::{Error, openapi::operations, params::Params};

/// Headers that make a call depend on what is stored.
const CONDITIONS: [HeaderName; 2] = [header::IF_MATCH, header::IF_NONE_MATCH];

/// What is read there is stored elsewhere, and nobody should take all for the part that they asked for.
const EXPORT_PATH: &str = "/api/export";

/// What each call takes, by its path in the router and its method; clones share it.
#[derive(Clone)]
pub(super) struct Heeded(Arc<HashMap<String, HashMap<Method, Call>>>);

/// What one call takes.
#[derive(Default)]
struct Call {
    headers: Vec<String>,
    params: Vec<String>,
}

impl Heeded {
    /// Reads it off the document, as long as its paths are those of the router.
    pub(super) fn of(document: &mut OpenApi) -> Self {
        let paths = document.paths.paths.iter_mut().map(|(path, item)| {
            let calls = operations(item).map(|(method, operation)| (method, Call::of(operation)));
            (path.clone(), calls.collect())
        });
        Self(Arc::new(paths.collect()))
    }
}

impl Call {
    fn of(operation: &Operation) -> Self {
        let mut call = Self::default();
        for one in operation.parameters.iter().flatten() {
            let RefOr::T(Parameter { name, parameter_in, .. }) = one else { continue };
            match parameter_in {
                ParameterIn::Header => call.headers.push(name.clone()),
                ParameterIn::Query => call.params.push(name.clone()),
                ParameterIn::Path | ParameterIn::Cookie | ParameterIn::QueryString => {}
            }
        }
        call
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
        if let Some(call) = heeded.get(path).and_then(|calls| calls.get(method)) {
            check(&request, call).map_err(Error::Invalid)?;
        }
    }
    Ok(next.run(request).await)
}

fn check(request: &Request, call: &Call) -> Result<(), FieldFault> {
    let is_in = |list: &[String], name: &str| list.iter().any(|one| one == name);
    for condition in CONDITIONS {
        let is_sent = request.headers().contains_key(&condition);
        if is_sent && !request.method().is_safe() && !is_in(&call.headers, condition.as_str()) {
            let reason = "this call compares no version with it; leave the header out";
            return Err(FieldFault::new(condition.as_str(), reason));
        }
    }
    let params = Params::parse(request.uri().query().unwrap_or_default())?;
    match params.names().find(|name| !is_in(&call.params, name)) {
        Some(name) => Err(FieldFault::new(name, "this call takes no such query parameter")),
        None => Ok(()),
    }
}
