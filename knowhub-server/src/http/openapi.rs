//! What the OpenAPI document says beyond the handlers themselves: its head, and what calls share.

mod errors;

use axum::{
    Router,
    http::{Method, header},
};
use protocol::hub::{ErrorBody, ResourcePrefix, StatusFilter, TagFilter};
use service::http::REQUEST_ID;
use utoipa::{
    OpenApi,
    openapi::{
        self, RefOr, Required,
        header::HeaderBuilder,
        path::{Operation, ParameterBuilder, ParameterIn, PathItem},
        response::Response,
        schema::{AnyOfBuilder, ObjectBuilder, Schema, SchemaType, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_swagger_ui::SwaggerUi;

pub(super) use errors::{BodyErrors, NotFound, OtherVersion, ReadErrors, Unreadable};

use super::extract::{ALLOW_LIKELY_SECRET, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAY, MAX_KEY_BYTES};

/// Where the document is served.
const DOCUMENT_PATH: &str = "/api/openapi.json";

/// Where people read it; the page comes with the program and loads nothing from elsewhere.
const PAGE_PATH: &str = "/docs";

/// The name under which the document speaks of access tokens.
const TOKEN_SCHEME: &str = "token";

/// `*`, or a list of entity tags.
const ENTITY_TAGS: &str = r#"^(\*|(W/)?"[^",]*"( *, *(W/)?"[^",]*")*)$"#;

/// The head of the document; the paths come from the router.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "KnowHub",
        description = "The collective memory of AI agents: what happened when somebody used a tool, \
                       what was learned, and the content worth keeping.\n\n\
                       Fields that a schema does not name are ignored."
    ),
    components(schemas(ErrorBody, ResourcePrefix, StatusFilter, TagFilter)),
    tags(
        (name = "experiences", description = "What happened when somebody used a resource"),
        (name = "knowledge", description = "What was learned, and what its users found"),
        (name = "resources", description = "Contents and resources, with their sealed secrets"),
        (name = "demand", description = "What was asked for and not found"),
        (name = "data", description = "Taking everything out, and bringing it back"),
        (name = "operations", description = "How the hub itself is"),
    ),
)]
pub(super) struct Document;

/// Returns the routes of the document and its page, for a document that has all paths.
pub(super) fn routes(mut document: openapi::OpenApi) -> Router {
    complete(&mut document);
    SwaggerUi::new(PAGE_PATH).url(DOCUMENT_PATH, document).into()
}

/// Adds what holds for every call, so that no handler repeats it.
fn complete(document: &mut openapi::OpenApi) {
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token of `KNOWHUB_TOKENS`; none is needed where none are set."))
        .build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(TOKEN_SCHEME, SecurityScheme::Http(token));
    document.security =
        Some(vec![SecurityRequirement::new(TOKEN_SCHEME, [""; 0]), SecurityRequirement::default()]);
    components.schemas.values_mut().for_each(allow_absent_flattened);
    for item in document.paths.paths.values_mut() {
        for (method, operation) in operations(item) {
            if [Method::POST, Method::PUT].contains(&method) && takes_json(operation) {
                take_idempotency_key(operation);
            }
            if operation.request_body.is_some() || takes_reason(operation) {
                allow_likely_secrets(operation);
            }
            describe_conditions(operation);
            describe_headers(operation);
        }
    }
}

/// Mends a flattened field that may be absent: its schema says that the whole object is null then.
fn allow_absent_flattened(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::AllOf(parts)) = schema else { return };
    for part in &mut parts.items {
        let RefOr::T(Schema::OneOf(choices)) = part else { continue };
        let present = choices.items.drain(..).filter(|choice| !is_null(choice));
        let choices = present.fold(AnyOfBuilder::new(), AnyOfBuilder::item);
        let absent = ObjectBuilder::new().schema_type(Type::Object);
        *part = Schema::from(choices.item(absent)).into();
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    let null = SchemaType::Type(Type::Null);
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == null)
}

/// Says what an `If-Match` or `If-None-Match` looks like, for the handlers that take one.
fn describe_conditions(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        let text = ObjectBuilder::new().schema_type(Type::String);
        let text = match &parameter.name {
            name if name == header::IF_MATCH.as_str() => {
                text.pattern(Some(ENTITY_TAGS)).examples(["\"3\""])
            }
            name if name == header::IF_NONE_MATCH.as_str() => text.enum_values(Some(["*"])),
            _ => continue,
        };
        parameter.schema = Some(Schema::from(text).into());
    }
}

/// Returns each operation of a path with its method.
pub(super) fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem { get, post, put, patch, delete, .. } = item;
    [
        (Method::GET, get),
        (Method::POST, post),
        (Method::PUT, put),
        (Method::PATCH, patch),
        (Method::DELETE, delete),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn take_idempotency_key(operation: &mut Operation) {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(MAX_KEY_BYTES))
        .pattern(Some("^[!-~]+$"));
    let key = ParameterBuilder::new()
        .name(IDEMPOTENCY_KEY.as_str())
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("Under the same key the same body is stored once, for 24 hours."))
        .schema(Some(schema))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(key));
    for (_, response) in answers(operation).filter(|(status, _)| status.starts_with('2')) {
        add_header(response, IDEMPOTENT_REPLAY.as_str(), "`true` when it was stored before.");
    }
}

fn takes_json(operation: &Operation) -> bool {
    let Some(RefOr::T(body)) = &operation.request_body else { return false };
    body.content.contains_key("application/json")
}

/// A deletion has no body, and its reason is a plain text all the same.
fn takes_reason(operation: &Operation) -> bool {
    let mut parameters = operation.parameters.iter().flatten();
    parameters.any(|one| matches!(one, RefOr::T(parameter) if parameter.name == "reason"))
}

fn allow_likely_secrets(operation: &mut Operation) {
    let schema =
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["true", "false"]));
    let allow = ParameterBuilder::new()
        .name(ALLOW_LIKELY_SECRET.as_str())
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("`true` lets in what looks like a secret and is none."))
        .schema(Some(schema))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(allow));
}

fn describe_headers(operation: &mut Operation) {
    for (status, response) in answers(operation) {
        add_header(response, REQUEST_ID.as_str(), "Names the request in the hub's log.");
        if status == "429" {
            add_header(response, "retry-after", "Seconds until the next request is taken.");
        }
    }
}

fn answers(operation: &mut Operation) -> impl Iterator<Item = (&str, &mut Response)> {
    operation.responses.responses.iter_mut().filter_map(|(status, response)| match response {
        RefOr::T(response) => Some((status.as_str(), response)),
        RefOr::Ref(_) => None,
    })
}

fn add_header(response: &mut Response, name: &str, description: &str) {
    let text = Schema::from(ObjectBuilder::new().schema_type(Type::String));
    let header = HeaderBuilder::new().schema(Some(text)).description(Some(description)).build();
    response.headers.insert(name.to_owned(), RefOr::T(header));
}
