//! Suggestions for unknown keys.

use serde_json::Value;

use super::editor_schema::json_schema;
use super::key::{KeySegment, SettingKey};

/// Minimum Jaro-Winkler similarity of two words at which one may be a typo of the other.
const MIN_SIMILARITY: f64 = 0.8;

/// How much more similar a key of another table must be than one of the same table.
const ELSEWHERE_MARGIN: f64 = 0.05;

/// Returns the element of `known` that is most similar to `word`, if any is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|candidate| (candidate, candidate));
    nearest_scored(word, scored).map(|(_, candidate)| candidate)
}

/// Returns the value whose name is most similar to `word`, and the similarity.
fn nearest_scored<'a, T>(
    word: &str,
    known: impl IntoIterator<Item = (&'a str, T)>,
) -> Option<(f64, T)> {
    known
        .into_iter()
        .map(|(name, value)| (strsim::jaro_winkler(word, name), value))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// Suggests a key to use instead of an unknown one.
pub(super) fn suggest_key(key: &SettingKey) -> Option<String> {
    let schema = json_schema();
    let (table, name) = key.split_last();
    let name = name?;
    let names = names_in(&schema, &table);
    let here = nearest_scored(name, names.iter().map(|name| (name.as_str(), name)));
    let all = all_keys(&schema);
    let elsewhere = all
        .iter()
        .filter_map(|key| Some((key.split_last().1?, key)));
    let elsewhere = nearest_scored(name, elsewhere);
    match (here, elsewhere) {
        (Some((near, _)), Some((far, key))) if far > near + ELSEWHERE_MARGIN => {
            Some(format!("did you mean `{key}`?"))
        }
        (Some((_, key)), _) => Some(format!("did you mean `{key}`?")),
        (None, Some((similarity, key))) if similarity > 1.0 - ELSEWHERE_MARGIN => {
            Some(format!("did you mean `{key}`?"))
        }
        (None, _) => (!names.is_empty()).then(|| format!("valid keys: {}", names.join(", "))),
    }
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
