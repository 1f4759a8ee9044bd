//! The OpenAPI document, generated from the table of operations and the schemas of the types.

mod schemas;

use axum::Json;
use axum::http::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use selvedge_protocol::{API_PATH, Problem, WebhookMessage};
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operations::{BYTES, OPERATIONS, Operation, OperationAccess, RequestBody};

pub(super) async fn serve_document() -> Json<Value> {
    Json(document())
}

/// The whole document.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>().to_value();
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        let document_entry = describe(operation, &mut generator, &problem);
        path[operation.method.to_lowercase()] = document_entry;
    }
    let message = generator.subschema_for::<WebhookMessage>().to_value();
    let webhook = describe_webhook(&message);
    let schemas = generator.take_definitions(true);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Selvedge hub",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Submit and follow tasks, read their reports, review results.",
        },
        "paths": paths,
        "webhooks": {"task": webhook},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    });
    schemas::merge_string_constants(&mut document);
    schemas::name_variants(&mut document["components"]["schemas"]);
    document
}

/// A name for generated clients: `get_tasks`, `get_task`, `create_task`, `cancel_task`, `get_task_report`.
fn operation_id(method: &str, path: &str) -> String {
    let path = path.strip_prefix(API_PATH).unwrap_or(path);
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let is_parameter = |index: usize| segments.get(index).is_some_and(|it| it.starts_with('{'));
    let mut words = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        if is_parameter(index) {
            continue;
        }
        let word = segment.split('.').next().unwrap_or_default();
        // One of a collection.
        words.push(match word.strip_suffix('s') {
            Some(singular) if is_parameter(index + 1) => singular,
            _ => word,
        });
    }
    let verb = match method {
        "POST" if words.len() > 1 => words.pop().unwrap_or_default().to_owned(),
        "POST" => {
            let collection = words.pop().unwrap_or_default();
            words.push(collection.strip_suffix('s').unwrap_or(collection));
            "create".to_owned()
        }
        method => method.to_lowercase(),
    };
    format!("{verb}_{}", words.join("_"))
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator, problem: &Value) -> Value {
    let (status, media, schema) = operation.response;
    let schema = schema.map_or_else(
        || plain_schema(media),
        |schema| schema(generator).to_value(),
    );
    let mut response = json!({"description": operation.summary});
    let has_body = !matches!(status, 101 | 204) && operation.method != "HEAD";
    if has_body {
        response["content"] = json!({media: {"schema": schema}});
    }
    let mut responses = Map::new();
    responses.insert(status.to_string(), response);
    for status in error_statuses(operation) {
        let reason = StatusCode::from_u16(status).ok();
        let reason = reason.and_then(|status| status.canonical_reason());
        let description = reason.unwrap_or("Error");
        responses.insert(
            status.to_string(),
            problem_response(operation, description, problem),
        );
    }
    let other = problem_response(operation, "Problem details of any other error.", problem);
    responses.insert("default".to_owned(), other);
    let mut document_entry = json!({
        "operationId": operation_id(operation.method, operation.path),
        "tags": ["hub"],
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses,
    });
    let body = match operation.request {
        RequestBody::None => None,
        RequestBody::Json(schema) => Some((true, "application/json", schema(generator).to_value())),
        RequestBody::OptionalJson(schema) => {
            Some((false, "application/json", schema(generator).to_value()))
        }
        RequestBody::Bytes => Some((true, BYTES, plain_schema(BYTES))),
    };
    if let Some((required, media, schema)) = body {
        document_entry["requestBody"] =
            json!({"required": required, "content": {media: {"schema": schema}}});
    }
    if let OperationAccess::Scopes(scopes) = operation.access {
        let scope_names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
        document_entry["security"] = json!([{"token": []}]);
        document_entry["x-scopes"] = json!(scope_names);
    }
    document_entry
}

/// The request that a webhook of the format `json` receives.
fn describe_webhook(message: &Value) -> Value {
    let header = |name: &str, description: &str| json!({"name": name, "in": "header", "required": true, "description": description, "schema": {"type": "string"}});
    json!({"post": {
        "operationId": "receive_task_event",
        "summary": "Informs a webhook of an event, as the Standard Webhooks specification defines it.",
        "parameters": [
            header("webhook-id", "the message's id, the same in repeated requests"),
            header("webhook-timestamp", "when the request was sent: seconds since 1970"),
            header("webhook-signature", "`v1,` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in base64"),
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": message}}},
        "responses": {"2XX": {"description": "The event was accepted."}},
    }})
}

/// The schema of a body that is not JSON.
fn plain_schema(media: &str) -> Value {
    match media {
        BYTES => json!({"type": "string", "format": "binary"}),
        "application/json" => json!({}),
        _ => json!({"type": "string"}),
    }
}

fn problem_response(operation: &Operation, description: &str, problem: &Value) -> Value {
    let mut response = json!({"description": description});
    if operation.method != "HEAD" {
        response["content"] = json!({"application/problem+json": {"schema": problem}});
    }
    response
}

/// Path, query and header parameters.
fn parameters(operation: &Operation) -> Vec<Value> {
    let names = operation.path.split('{').skip(1);
    let in_path = names.filter_map(|rest| rest.split('}').next()).map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let optional = |place: &'static str, parameters: &'static [(&str, &str)]| {
        parameters.iter().map(move |(name, description)| {
            let schema = match *name {
                "after" | "before" | "days" | "limit" => json!({"type": "integer", "minimum": 0}),
                _ => json!({"type": "string"}),
            };
            json!({"name": name, "in": place, "description": description, "schema": schema})
        })
    };
    let in_query = optional("query", operation.query);
    in_path
        .chain(in_query)
        .chain(optional("header", operation.headers))
        .collect()
}

/// The statuses of errors that follow from the access, the path, the parameters and the body, and those that only
/// this operation returns.
fn error_statuses(operation: &Operation) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<u16> = operation.errors.iter().copied().collect();
    if matches!(operation.access, OperationAccess::Scopes(_)) {
        statuses.extend([401, 403, 429, 503]);
    }
    if operation.path.contains('{') {
        statuses.insert(404);
    }
    if !operation.query.is_empty() {
        statuses.insert(400);
    }
    if !matches!(operation.request, RequestBody::None) {
        statuses.extend([413, 422, 507]);
    }
    statuses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternative_strings_are_one_enum() {
        let document = document();
        let state = &document["components"]["schemas"]["TaskState"];
        assert_eq!(state["type"], "string");
        assert_eq!(state["enum"][0], "queued");
        let description = state["description"].as_str().unwrap();
        assert!(
            description.contains("`queued`: Waits for a worker."),
            "{description}"
        );
    }

    #[test]
    fn tagged_alternatives_are_named_components() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let event = &schemas["Envelope"];
        assert_eq!(event["discriminator"]["propertyName"], "type");
        let named = "#/components/schemas/EnvelopeRunCreated";
        assert_eq!(event["discriminator"]["mapping"]["run_created"], named);
        let created = &schemas["EnvelopeRunCreated"];
        assert_eq!(created["properties"]["seq"]["type"], "integer");
        let data = "#/components/schemas/EnvelopeRunCreatedData";
        assert_eq!(created["properties"]["data"]["$ref"], data);
        assert_eq!(
            created["required"],
            json!(["v", "run_id", "seq", "at", "type", "data"])
        );
    }

    #[test]
    fn operations_name_headers_and_errors() {
        let document = document();
        let submit = &document["paths"]["/api/v1/tasks"]["post"];
        let header = json!("Idempotency-Key");
        let parameters = submit["parameters"].as_array().unwrap();
        assert!(
            parameters
                .iter()
                .any(|it| it["name"] == header && it["in"] == "header")
        );
        for status in ["401", "403", "409", "413", "422", "429", "503", "default"] {
            let content = &submit["responses"][status]["content"];
            let schema = &content["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{status}");
        }
    }

    #[test]
    fn operations_have_unique_names() {
        let names: BTreeSet<String> = OPERATIONS
            .iter()
            .map(|operation| operation_id(operation.method, operation.path))
            .collect();
        assert_eq!(names.len(), OPERATIONS.len(), "{names:?}");
        for name in [
            "create_task",
            "get_tasks",
            "get_task",
            "cancel_task",
            "get_task_report",
            "get_task_reports",
            "delete_token",
            "get_openapi",
        ] {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
    }
}
