//! `selvedge config show`: the effective values, each with its origin.

use std::fmt::Write as _;

use serde::Serialize;

use super::key::SettingKey;
use super::resolve::ResolvedConfig;
use super::source::Origin;
use super::tree::{ConfigNode, ConfigValue};

/// Replacement for a value that looks like a secret.
const HIDDEN_VALUE: &str = "<hidden>";

/// Words in a variable's name that mark its value as a secret.
const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// A setting with its effective value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Its path: `verification.timeout`, `checks[0].run`.
    pub key: String,
    /// Its value; values that look like secrets are replaced.
    pub value: toml::Value,
    /// Its origin.
    pub origin: Origin,
}

impl ResolvedConfig {
    /// Every setting that has a value, sorted by path.
    pub fn settings(&self) -> Vec<Setting> {
        let leaves = self.tree.leaves(&SettingKey::default());
        leaves
            .iter()
            .flat_map(|(key, node)| match list_of_tables(node) {
                Some(elements) => elements
                    .iter()
                    .enumerate()
                    .flat_map(|(index, element)| element.leaves(&key.index(index)))
                    .map(|(key, node)| setting(&key, node))
                    .collect(),
                None => vec![setting(key, node)],
            })
            .collect()
    }

    /// The settings as TOML, each with its origin in a comment. Parsing the text yields the same values, except for
    /// hidden ones.
    pub fn to_toml(&self) -> String {
        let mut lines = Vec::new();
        let mut blocks = Vec::new();
        for (key, node) in self.tree.leaves(&SettingKey::default()) {
            match list_of_tables(node) {
                Some(elements) => {
                    blocks.extend(elements.iter().map(|element| (key.clone(), element)));
                }
                None => lines.push(setting(&key, node)),
            }
        }
        let mut text = align(&lines);
        for (key, element) in blocks {
            let settings = element.leaves(&SettingKey::default());
            let settings: Vec<_> = settings
                .iter()
                .map(|(key, node)| setting(key, node))
                .collect();
            let _ = write!(text, "\n[[{key}]]\n{}", align(&settings));
        }
        text
    }
}

fn list_of_tables(node: &ConfigNode) -> Option<&[ConfigNode]> {
    match &node.value {
        ConfigValue::List(elements)
            if elements
                .iter()
                .any(|element| matches!(element.value, ConfigValue::Table(_))) =>
        {
            Some(elements)
        }
        _ => None,
    }
}

fn setting(key: &SettingKey, node: &ConfigNode) -> Setting {
    let value = if is_secret(key) {
        toml::Value::String(HIDDEN_VALUE.to_owned())
    } else {
        node.to_toml()
    };
    Setting {
        key: key.to_string(),
        value,
        origin: node.key_span.origin(),
    }
}

/// Literal values of an agent's environment are hidden by their names; names of variables are not.
fn is_secret(key: &SettingKey) -> bool {
    let (table, name) = key.split_last();
    let in_env = table.split_last().1 == Some("env");
    let name = name.unwrap_or_default().to_ascii_uppercase();
    in_env && SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Formats one setting per line, with the origins in one column unless a line is very long.
fn align(settings: &[Setting]) -> String {
    const MAX_COLUMN: usize = 48;
    let lines: Vec<_> = settings
        .iter()
        .map(|setting| {
            (
                format!("{} = {}", setting.key, setting.value),
                &setting.origin,
            )
        })
        .collect();
    let width = lines
        .iter()
        .map(|(line, _)| line.chars().count())
        .filter(|width| *width <= MAX_COLUMN);
    let width = width.max().unwrap_or_default();
    let mut text = String::new();
    for (line, origin) in lines {
        let _ = writeln!(text, "{line:<width$}  # {origin}");
    }
    text
}
