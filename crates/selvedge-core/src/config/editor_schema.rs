//! The JSON Schema of `selvedge.toml`, for editors and for suggestions. The structure is that of the types; descriptions
//! and defaults are those of `default.toml`, which documents every key once.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::DEFAULT_TOML;
use super::schema::Config;

/// Tables whose entries have names of the user's choice; their defaults are not those of a new entry.
const NAMED_ENTRIES: [&str; 2] = ["agents", "prices"];

/// Returns the schema, without references.
pub fn json_schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<Config>().to_value();
    // A layer may omit any key: `default.toml` is below all layers. Unknown keys are errors.
    make_partial(&mut schema);
    for (path, text) in descriptions() {
        if let Some(Value::Object(key)) = schema.pointer_mut(&path) {
            key.insert("description".to_owned(), text.into());
        }
    }
    if let Ok(defaults) = toml::from_str::<Map<String, Value>>(DEFAULT_TOML) {
        add_defaults(&mut schema, &defaults);
    }
    schema
}

/// Makes the keys of fixed tables optional.
fn make_partial(schema: &mut Value) {
    let Value::Object(table) = schema else { return };
    let Some(Value::Object(mut properties)) = table.remove("properties") else {
        return;
    };
    properties.values_mut().for_each(make_partial);
    table.remove("required");
    table.insert("properties".to_owned(), properties.into());
    table.insert("additionalProperties".to_owned(), false.into());
}

/// Adds the values of a table as defaults of its keys.
fn add_defaults(schema: &mut Value, values: &Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, value) in values {
        let Some(schema) = properties.get_mut(name) else {
            continue;
        };
        match (value, schema) {
            (Value::Object(values), schema) if schema.get("properties").is_some() => {
                add_defaults(schema, values);
            }
            (value, Value::Object(key)) if !NAMED_ENTRIES.contains(&name.as_str()) => {
                key.insert("default".to_owned(), value.clone());
            }
            _ => {}
        }
    }
}

/// The comments of `default.toml` above its tables, keys and examples, by their pointers into the schema. The first
/// comment of a key that is documented more than once comes last.
fn descriptions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut table = String::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut previous = String::new();
    for line in DEFAULT_TOML.lines() {
        if line == "#" || line.starts_with("# ") {
            comment.push(line.trim_start_matches('#').trim_start_matches(' '));
            continue;
        }
        // An example begins with `#`, without a space.
        let is_example = line.starts_with('#');
        let code = line.trim_start_matches('#');
        let mut text = comment.join("\n").trim().to_owned();
        comment.clear();
        if let Some(name) = code.strip_prefix('[') {
            let name = name
                .trim_start_matches('[')
                .split(']')
                .next()
                .unwrap_or_default();
            let name = name.split('.').next().unwrap_or_default();
            table = format!("/properties/{name}");
            if !text.is_empty() {
                found.push((table.clone(), text));
            }
            if NAMED_ENTRIES.contains(&name) {
                table.push_str("/additionalProperties");
            } else if code.starts_with("[[") {
                table.push_str("/items");
            }
            previous.clear();
        } else if let Some((key, _)) = code.split_once('=') {
            let key = key.split('.').next().unwrap_or_default().trim();
            // Adjacent keys share a comment.
            if text.is_empty() && !is_example {
                text.clone_from(&previous);
            }
            previous.clone_from(&text);
            if !text.is_empty() {
                found.push((format!("{table}/properties/{key}"), text));
            }
        } else {
            previous.clear();
        }
    }
    found.reverse();
    found
}
