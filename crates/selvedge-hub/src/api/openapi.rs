//! The OpenAPI document, generated from the table of operations and the schemas of the types.

use axum::Json;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use selvedge_protocol::Problem;
use serde_json::{Map, Value, json};

use super::operations::{OPERATIONS, Operation, OperationAccess};

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
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Selvedge hub",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Submit and follow tasks, read their reports, review results.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator, problem: &Value) -> Value {
    let (status, media, form) = operation.response;
    let content = match form {
        Some(form) => json!({media: {"schema": form(generator).to_value()}}),
        None => json!({media: {}}),
    };
    let mut parameters = Vec::new();
    for name in operation
        .path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
    {
        let schema = json!({"type": "string"});
        parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    for (name, about) in operation.query {
        let schema = json!({"type": "string"});
        parameters
            .push(json!({"name": name, "in": "query", "description": about, "schema": schema}));
    }
    let mut document_entry = json!({
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            status.to_string(): {"description": operation.summary, "content": content},
            "default": {
                "description": "Problem details of the error.",
                "content": {"application/problem+json": {"schema": problem}},
            },
        },
    });
    if let Some(form) = operation.request_schema {
        let schema = form(generator).to_value();
        document_entry["requestBody"] =
            json!({"content": {"application/json": {"schema": schema}}});
    }
    if let OperationAccess::Scopes(scopes) = operation.access {
        let scope_names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
        document_entry["security"] = json!([{"token": []}]);
        document_entry["x-scopes"] = json!(scope_names);
    }
    document_entry
}
