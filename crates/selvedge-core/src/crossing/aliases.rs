//! Aliases of folders in TypeScript configuration: new aliases are taken from the attempt, the rest of the file from
//! the base.

use serde_json::{Map, Value};

use super::references::join;
use crate::guard::Pattern;

/// Configuration files that define aliases.
static CONFIG: Pattern = Pattern::new(r"^(?:ts|js)config[^/]*\.json$");
/// Prefixes that no package name can have, so an alias with one cannot redirect the import of a package.
const NO_PACKAGE: [&str; 4] = ["@/", "~", "#", "$"];

pub(super) fn has_aliases(name: &str) -> bool {
    CONFIG.is_match(name)
}

/// Returns the base's configuration plus the attempt's new aliases that no original source uses.
pub(super) fn merge_aliases(
    before: &Value,
    after: &Value,
    is_imported: &dyn Fn(&str) -> bool,
) -> Value {
    let option = |config: &Value, name: &str| config.get("compilerOptions")?.get(name).cloned();
    let mut merged = before.clone();
    let Some(Value::Object(aliases)) = option(after, "paths") else {
        return merged;
    };
    let old = option(before, "paths").unwrap_or_default();
    let (base_url, new_url) = (option(before, "baseUrl"), option(after, "baseUrl"));
    let is_new = |name: &str| {
        old.get(name).is_none()
            && NO_PACKAGE.iter().any(|start| name.starts_with(start))
            && !is_imported(name.split('*').next().unwrap_or(name))
    };
    let added: Map<String, Value> = aliases
        .into_iter()
        .filter(|(name, _)| is_new(name))
        .filter_map(|(name, targets)| {
            // A new `baseUrl` could make files of the project shadow packages.
            let targets = match (&base_url, &new_url) {
                (None, Some(url)) => relative_to(url.as_str()?, &targets)?,
                (old, new) if old == new => targets,
                _ => return None,
            };
            Some((name, targets))
        })
        .collect();
    if added.is_empty() {
        return merged;
    }
    if let Some(paths) = table(&mut merged, "compilerOptions")
        .and_then(|options| table(options, "paths"))
        .and_then(Value::as_object_mut)
    {
        paths.extend(added);
    }
    merged
}

/// Adds the attempt's references to projects in new folders, which no original project can refer to.
pub(super) fn merge_references(
    mut merged: Value,
    after: &Value,
    is_new: &dyn Fn(&str) -> bool,
) -> Value {
    let references = after.get("references").and_then(Value::as_array);
    let is_added = |reference: &&Value| {
        let path = reference.get("path").and_then(Value::as_str);
        let is_plain = reference.as_object().is_some_and(|it| it.len() == 1);
        is_plain && path.is_some_and(is_new)
    };
    let added = references.into_iter().flatten().filter(is_added).cloned();
    let added: Vec<Value> = added.collect();
    if !added.is_empty()
        && let Some(table) = merged.as_object_mut()
        && let Some(references) = table
            .entry("references")
            .or_insert_with(|| Value::Array(Vec::new()))
            .as_array_mut()
    {
        references.extend(added);
    }
    merged
}

/// Returns the table with this name, creating it if it does not exist.
fn table<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    let empty = || Value::Object(Map::new());
    let table = value.as_object_mut()?.entry(name).or_insert_with(empty);
    table.is_object().then_some(table)
}

/// The targets of an alias as paths relative to the folder of the configuration.
fn relative_to(base_url: &str, targets: &Value) -> Option<Value> {
    let targets = targets.as_array()?.iter().map(|target| {
        let path = join("", &format!("{base_url}/{}", target.as_str()?))?;
        Some(Value::String(format!("./{path}")))
    });
    targets.collect::<Option<Vec<_>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(before: &str, after: &str) -> Value {
        let read = |text| serde_json::from_str(text).unwrap();
        merge_aliases(&read(before), &read(after), &|name| name == "~/")
    }

    #[test]
    fn add_takes_new_aliases_of_folders() {
        let merged = merged(
            r#"{"compilerOptions": {"strict": true}}"#,
            r#"{"compilerOptions": {"strict": false, "baseUrl": "./web", "paths": {
                "@/*": ["src/*"], "~/*": ["src/*"], "vitest": ["./fake"], "*": ["./fake/*"]}}}"#,
        );
        let expected = serde_json::json!({
            "compilerOptions": {"strict": true, "paths": {"@/*": ["./web/src/*"]}}
        });
        assert_eq!(merged, expected);
    }

    #[test]
    fn merge_adds_references_to_new_folders() {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        let before = read(r#"{"files": [], "references": [{"path": "core"}]}"#);
        let after = read(
            r#"{"references": [{"path": "shared"}, {"path": "core"}, {"path": "app", "prepend": true}, {"path": "core/b"}]}"#,
        );
        let merged = merge_references(before, &after, &|path| !path.starts_with("core"));
        let expected =
            read(r#"{"files": [], "references": [{"path": "core"}, {"path": "shared"}]}"#);
        assert_eq!(merged, expected);
    }

    #[test]
    fn add_leaves_aliases_of_the_base_alone() {
        let before = r#"{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}"#;
        for after in [
            r#"{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["fake/*", "src/*"]}}}"#,
            r##"{"compilerOptions": {"baseUrl": "fake", "paths": {"@/*": ["src/*"], "#a": ["a"]}}}"##,
            r#"{"compilerOptions": {}, "exclude": ["src"]}"#,
        ] {
            assert_eq!(
                merged(before, after),
                serde_json::from_str::<Value>(before).unwrap()
            );
        }
    }
}
