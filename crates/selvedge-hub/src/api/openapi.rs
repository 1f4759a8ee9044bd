//! The OpenAPI document, generated from the table of operations and the schemas of the types.

use axum::Json;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use selvedge_protocol::{API_PATH, Problem};
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
    let mut document = json!({
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
    });
    merge_string_constants(&mut document);
    document
}

/// Replaces alternatives of single strings by one `enum`: generators of clients make a type of each alternative,
/// although only the descriptions differ. The descriptions become part of that of the whole.
fn merge_string_constants(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some((values, descriptions)) = string_constants(object) {
                object.remove("oneOf");
                object.insert("type".to_owned(), "string".into());
                object.insert("enum".to_owned(), values.into());
                let own = object.get("description").and_then(Value::as_str);
                let lines = own.map(str::to_owned).into_iter().chain(descriptions);
                let text = lines.collect::<Vec<_>>().join("\n");
                object.insert("description".to_owned(), text.into());
            }
            object.values_mut().for_each(merge_string_constants);
        }
        Value::Array(elements) => elements.iter_mut().for_each(merge_string_constants),
        _ => {}
    }
}

/// The values and their descriptions, if a schema consists of alternative strings.
fn string_constants(schema: &Map<String, Value>) -> Option<(Vec<Value>, Vec<String>)> {
    let (mut values, mut descriptions) = (Vec::new(), Vec::new());
    for alternative in schema.get("oneOf")?.as_array()? {
        if alternative.get("type")? != "string" {
            return None;
        }
        if let Some(value) = alternative.get("const") {
            if let Some(text) = alternative.get("description").and_then(Value::as_str) {
                descriptions.push(format!("`{}`: {text}", value.as_str()?));
            }
            values.push(value.clone());
        } else {
            values.extend(alternative.get("enum")?.as_array()?.iter().cloned());
        }
    }
    Some((values, descriptions))
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
        "operationId": operation_id(operation.method, operation.path),
        "tags": ["hub"],
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
