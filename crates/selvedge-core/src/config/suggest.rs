//! Suggestions for unknown keys.

use serde_json::Value;

use super::editor_schema::json_schema;
use super::key::{KeySegment, SettingKey};

/// Minimum Jaro-Winkler similarity of two words at which one may be a typo of the other.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the element of `known` that is most similar to `word`, if any is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// Suggests a key to use instead of an unknown one.
pub(super) fn suggest_key(key: &SettingKey) -> Option<String> {
    let schema = json_schema();
    let (table, name) = key.split_last();
    let name = name?;
    let names = names_in(&schema, &table);
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        return Some(format!("did you mean `{near}`?"));
    }
    let elsewhere = all_keys(&schema)
        .into_iter()
        .find(|key| key.split_last().1 == Some(name));
    if let Some(elsewhere) = elsewhere {
        return Some(format!("did you mean `{elsewhere}`?"));
    }
    (!names.is_empty()).then(|| format!("valid keys: {}", names.join(", ")))
}

/// The keys that a table may have.
fn names_in(schema: &Value, table: &SettingKey) -> Vec<String> {
    let found = table
        .0
        .iter()
        .try_fold(schema, |schema, segment| match segment {
            KeySegment::Name(name) => schema
                .pointer("/properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties")),
            KeySegment::Index(_) => schema.get("items"),
        });
    let properties = found.and_then(|schema| schema.get("properties")?.as_object());
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// All keys that have a fixed path, which those of `[agents.NAME]` and `[[checks]]` do not.
pub(super) fn all_keys(schema: &Value) -> Vec<SettingKey> {
    fn walk(schema: &Value, at: &SettingKey, found: &mut Vec<SettingKey>) {
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                for (name, schema) in properties {
                    walk(schema, &at.name(name), found);
                }
            }
            None => found.push(at.clone()),
        }
    }
    let mut found = Vec::new();
    walk(schema, &SettingKey::default(), &mut found);
    found
}
