//! Adds entries to an agent's settings file in JSON (comments and trailing commas are allowed), and removes them. The
//! rest of the text is not changed. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// An entry in a settings file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SettingsEntry {
    /// The value of a key that Selvedge owns, such as `mcpServers.selvedge`.
    Key {
        path: Vec<&'static str>,
        value: Value,
    },
    /// An element of a list: a hook that calls `selvedge hook` for an agent.
    Hook {
        path: Vec<&'static str>,
        value: Value,
        /// The agent's name on the command line.
        agent: &'static str,
    },
    /// A key that a new file needs, with its value. It is removed only with the file.
    Required { key: &'static str, value: Value },
}

/// Why a settings file cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsFileError {
    #[error("invalid JSON: {0}")]
    Invalid(String),
    #[error("`{0}` is not {1}")]
    WrongType(String, &'static str),
}

/// Adds the entries; replaces those of Selvedge that differ.
pub(super) fn add(text: &str, entries: &[SettingsEntry]) -> Result<String, SettingsFileError> {
    let root = parse(text)?;
    let object = root
        .object_value_or_create()
        .ok_or(SettingsFileError::WrongType(
            "(root)".to_owned(),
            "an object",
        ))?;
    for entry in entries {
        match entry {
            SettingsEntry::Required { key, value } => {
                if text.trim().is_empty() {
                    object.append(key, input(value));
                }
            }
            SettingsEntry::Key { path, value } => {
                let (last, parents) = split(path);
                let parent = descend(&object, parents)?;
                match parent.get(last) {
                    Some(found)
                        if found.value().as_ref().and_then(to_value).as_ref() == Some(value) => {}
                    Some(found) => found.set_value(input(value)),
                    None => {
                        parent.append(last, input(value));
                    }
                }
            }
            SettingsEntry::Hook { path, value, agent } => {
                let (last, parents) = split(path);
                let parent = descend(&object, parents)?;
                let array = parent
                    .array_value_or_create(last)
                    .ok_or_else(|| SettingsFileError::WrongType(path.join("."), "a list"))?;
                let own = own_hooks(&array, agent);
                if let [only] = own.as_slice()
                    && to_value(only).as_ref() == Some(value)
                {
                    continue;
                }
                own.into_iter().for_each(CstNode::remove);
                array.append(input(value));
            }
        }
    }
    Ok(root.to_string())
}

/// Removes the entries, and containers that become empty; `None` if nothing else is left in the
/// file.
pub(super) fn remove(
    text: &str,
    entries: &[SettingsEntry],
) -> Result<Option<String>, SettingsFileError> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else {
        return Ok(Some(text.to_owned()));
    };
    let mut is_changed = false;
    for entry in entries {
        let path = match entry {
            SettingsEntry::Required { .. } => continue,
            SettingsEntry::Key { path, .. } => {
                let (last, parents) = split(path);
                let found = find(&object, parents).and_then(|parent| parent.get(last));
                let Some(found) = found else { continue };
                found.remove();
                parents
            }
            SettingsEntry::Hook { path, agent, .. } => {
                let (last, parents) = split(path);
                let array = find(&object, parents).and_then(|parent| parent.array_value(last));
                let own = array.as_ref().map(|array| own_hooks(array, agent));
                let own = own.unwrap_or_default();
                if own.is_empty() {
                    continue;
                }
                own.into_iter().for_each(CstNode::remove);
                array.iter().for_each(close_in_line);
                path.as_slice()
            }
        };
        is_changed = true;
        remove_empty(&object, path);
    }
    if !is_changed {
        return Ok(Some(text.to_owned()));
    }
    let required = |key: &str| {
        entries
            .iter()
            .any(|entry| matches!(entry, SettingsEntry::Required { key: own, .. } if *own == key))
    };
    let rest = object.properties();
    let is_only_ours = rest
        .iter()
        .all(|property| property.decoded_name().is_some_and(|name| required(&name)));
    let has_comments = object.children().iter().any(CstNode::is_comment)
        || root.children().iter().any(CstNode::is_comment);
    Ok((!is_only_ours || has_comments).then(|| root.to_string()))
}

fn parse(text: &str) -> Result<CstRootNode, SettingsFileError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| SettingsFileError::Invalid(error.to_string()))
}

fn split<'a>(path: &'a [&'static str]) -> (&'static str, &'a [&'static str]) {
    match path {
        [parents @ .., last] => (*last, parents),
        [] => ("", &[]),
    }
}

/// The object at a path; creates what is missing.
fn descend(object: &CstObject, path: &[&str]) -> Result<CstObject, SettingsFileError> {
    path.iter().try_fold(object.clone(), |parent, key| {
        parent
            .object_value_or_create(key)
            .ok_or_else(|| SettingsFileError::WrongType((*key).to_owned(), "an object"))
    })
}

fn find(object: &CstObject, path: &[&str]) -> Option<CstObject> {
    path.iter()
        .try_fold(object.clone(), |parent, key| parent.object_value(key))
}

/// Removes the containers at a path that are empty, from the inside.
fn remove_empty(object: &CstObject, path: &[&'static str]) {
    for length in (1..=path.len()).rev() {
        let (last, parents) = split(path.get(..length).unwrap_or_default());
        let Some(property) = find(object, parents).and_then(|parent| parent.get(last)) else {
            return;
        };
        let is_empty = match property.value() {
            Some(value) => match (value.as_object(), value.as_array()) {
                (Some(object), _) => object.properties().is_empty(),
                (_, Some(array)) => array.elements().is_empty(),
                _ => false,
            },
            None => false,
        };
        if !is_empty {
            return;
        }
        property.remove();
    }
}

/// Removes the line break before the end of a list whose first element is in the line in which the list begins: adding
/// an element put it there.
fn close_in_line(array: &CstArray) {
    let children = array.children();
    let begins_in_line = children.get(1).is_some_and(|first| !first.is_newline());
    let before_end = children.iter().rev().skip(1);
    let blank: Vec<&CstNode> = before_end
        .take_while(|node| node.is_newline() || node.is_whitespace())
        .collect();
    if begins_in_line && blank.iter().any(|node| node.is_newline()) {
        for node in blank {
            node.clone().remove();
        }
    }
}

/// The hooks of Selvedge, whatever the path of the program and its options.
fn own_hooks(array: &CstArray, agent: &str) -> Vec<CstNode> {
    let call = format!(" hook {agent}");
    let is_own = |node: &CstNode| {
        to_value(node).is_some_and(|value| {
            has_text(&value, &|text| {
                text.contains("selvedge") && text.contains(&call)
            })
        })
    };
    array.elements().into_iter().filter(is_own).collect()
}

fn has_text(value: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_meant(text),
        Value::Array(values) => values.iter().any(|value| has_text(value, is_meant)),
        Value::Object(fields) => fields.values().any(|value| has_text(value, is_meant)),
        _ => false,
    }
}

fn to_value(node: &CstNode) -> Option<Value> {
    node.to_serde_value()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries() -> Vec<SettingsEntry> {
        let hook = json!({"hooks": [{"type": "command", "command": "selvedge hook claude"}]});
        let stop = SettingsEntry::Hook {
            path: vec!["hooks", "Stop"],
            value: hook.clone(),
            agent: "claude",
        };
        let start = SettingsEntry::Hook {
            path: vec!["hooks", "SessionStart"],
            value: hook,
            agent: "claude",
        };
        let server = SettingsEntry::Key {
            path: vec!["mcpServers", "selvedge"],
            value: json!({"command": "selvedge", "args": ["mcp"]}),
        };
        vec![stop, start, server]
    }

    const FILES: [&str; 6] = [
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t// mine\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] }\n\t\t]\n\t},\n\t\"a\": 1\n}\n",
        "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"z\": [1,2,   3]\n}",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"Stop\": [{\"command\": \"say done\"}],\n    \"Other\": []\n  }\n}\n",
        "// settings\n{\n  \"hooks\": {\n    \"PreToolUse\": [], // none\n  },\n}\n",
    ];

    #[test]
    fn settings_are_the_same_bytes_after_install_and_uninstall() {
        for before in FILES {
            let installed = add(before, &entries()).unwrap();
            assert_ne!(installed, before);
            let parsed: Value =
                jsonc_parser::parse_to_serde_value(&installed, &ParseOptions::default()).unwrap();
            assert_eq!(parsed["mcpServers"]["selvedge"]["command"], "selvedge");
            let stop = parsed["hooks"]["Stop"].as_array().unwrap();
            assert_eq!(
                stop.last().unwrap()["hooks"][0]["command"],
                "selvedge hook claude"
            );
            assert_eq!(
                add(&installed, &entries()).unwrap(),
                installed,
                "idempotent"
            );
            let removed = remove(&installed, &entries()).unwrap();
            assert_eq!(removed.as_deref(), Some(before));
            assert_eq!(remove(before, &entries()).unwrap().as_deref(), Some(before));
        }
    }

    #[test]
    fn settings_in_one_line_are_the_same_values_after_install_and_uninstall() {
        let before = "{\"a\": {\"b\": \"\\u00e9\"}}";
        let removed = remove(&add(before, &entries()).unwrap(), &entries());
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&removed.unwrap().unwrap()), value(before));
    }

    #[test]
    fn settings_file_of_own_entries_only_is_removed() {
        let mut all = entries();
        all.push(SettingsEntry::Required {
            key: "version",
            value: json!(1),
        });
        let installed = add("", &all).unwrap();
        assert!(installed.contains("\"version\": 1"), "{installed}");
        assert_eq!(remove(&installed, &all).unwrap(), None);
    }

    #[test]
    fn settings_entries_of_other_versions_are_replaced() {
        let old = r#"{"hooks": {"Stop": [{"hooks": [{"command": "/old/selvedge hook claude --max-refusals 5"}]}]}}"#;
        let installed = add(old, &entries()).unwrap();
        assert!(!installed.contains("/old/"), "{installed}");
    }

    #[test]
    fn settings_that_are_not_understood_are_refused() {
        for text in [
            "{",
            "[]",
            "\"x\"",
            r#"{"hooks": []}"#,
            r#"{"hooks": {"Stop": {}}}"#,
        ] {
            assert!(add(text, &entries()).is_err(), "{text}");
        }
    }
}
