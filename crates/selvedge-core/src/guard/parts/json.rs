//! JSON, with comments and trailing commas as `tsconfig.json` has them, as settings.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use super::settings::Settings;

/// What an empty file says: nothing.
const DEPTH: usize = 128;

/// `None` for text that is no JSON.
pub(super) fn read(text: &str) -> Option<Settings> {
    let mut settings = Settings::new();
    if text.trim().is_empty() {
        return Some(settings);
    }
    if is_too_deep(text) {
        return None;
    }
    let value: Value = parse_to_serde_value(text, &ParseOptions::default()).ok()?;
    flatten("", &value, &mut settings);
    Some(settings)
}

/// The parser recurses: what nests deeper than any configuration is not handed to it.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEPTH
    })
}

/// Tables by their dotted keys; arrays of named tables by their names; all else is a value.
pub(super) fn flatten(key: &str, value: &Value, into: &mut Settings) {
    let join = |part: &str| match key {
        "" => part.to_owned(),
        _ => format!("{key}.{part}"),
    };
    match value {
        Value::Object(table) => {
            for (part, value) in table {
                flatten(&join(part), value, into);
            }
        }
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            for (index, entry) in entries.iter().enumerate() {
                let name = entry
                    .get("name")
                    .or_else(|| entry.get("module"))
                    .or_else(|| entry.get("files"));
                let part = name.map_or_else(|| index.to_string(), Value::to_string);
                let part = part.trim_matches('"');
                flatten(&join(&format!("[{part}]")), entry, into);
            }
        }
        Value::String(text) => {
            into.insert(key.to_owned(), text.clone());
        }
        _ => {
            into.insert(key.to_owned(), value.to_string());
        }
    }
}
