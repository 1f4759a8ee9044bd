//! Packages that lock files name, each with everything that is locked for it. Without a lock file, manifests name the
//! packages that the project uses itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::python_name;
use crate::model::is_dependency_input;

/// A lock file, a list of requirements or a manifest before and after an attempt.
#[derive(Debug, Clone, Copy)]
pub struct LockChange<'a> {
    /// Relative to the workspace.
    pub path: &'a str,
    /// Its bytes before, if it existed.
    pub before: Option<&'a [u8]>,
    /// Its bytes after, if it exists.
    pub after: Option<&'a [u8]>,
}

/// What is locked for each package.
type Entries = BTreeMap<String, BTreeSet<String>>;

/// Packages of registries that differ from before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedPackages {
    pub(super) names: BTreeSet<String>,
    /// Whether other packages are the same: lock files name all of them, lists of requirements only some.
    pub(super) is_complete: bool,
}

/// Returns the packages for which something else is locked than before.
pub(super) fn changed_packages(locks: &[LockChange<'_>]) -> ChangedPackages {
    let is_complete = locks.iter().any(|lock| {
        let is_read = reader(lock.path).is_some_and(|(_, is_complete)| is_complete);
        is_read && lock.after.is_some()
    });
    let mut names = BTreeSet::new();
    for lock in locks {
        let Some((read, is_whole)) = reader(lock.path) else {
            continue;
        };
        if is_complete && !is_whole && is_manifest(lock.path) {
            continue;
        }
        let entries = |bytes: Option<&[u8]>| {
            let text = String::from_utf8_lossy(bytes.unwrap_or_default());
            read(&text)
        };
        let (before, after) = (entries(lock.before), entries(lock.after));
        let differing = after
            .into_iter()
            .filter(|(name, locked)| before.get(name) != Some(locked));
        names.extend(differing.map(|(name, _)| name));
    }
    ChangedPackages { names, is_complete }
}

/// Whether a file names packages to install, in a known format.
pub fn names_packages(path: &str) -> bool {
    reader(path).is_some()
}

fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "package.json" | "pyproject.toml")
}

type Reader = fn(&str) -> Entries;

/// The reader of a file, and whether the file names all packages that are installed.
fn reader(path: &str) -> Option<(Reader, bool)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_text = name.rsplit('.').next() == Some("txt");
    let read: Reader = match name {
        "package.json" => return Some((package_json, false)),
        "pyproject.toml" => return Some((pyproject, false)),
        "package-lock.json" | "npm-shrinkwrap.json" => npm,
        "yarn.lock" | "pnpm-lock.yaml" => blocks,
        "bun.lock" => bun,
        "uv.lock" | "poetry.lock" | "pdm.lock" | "Cargo.lock" => toml_packages,
        "Pipfile.lock" => pipfile,
        "composer.lock" => composer,
        "Gemfile.lock" | "gems.locked" => gems,
        _ if is_dependency_input(path) && is_text => return Some((requirements, false)),
        _ => return None,
    };
    Some((read, true))
}

fn add(entries: &mut Entries, name: &str, locked: impl Into<String>) {
    let locked = locked.into();
    entries.entry(name.to_owned()).or_default().insert(locked);
}

fn npm(text: &str) -> Entries {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut entries = Entries::new();
    for (path, package) in lock["packages"].as_object().into_iter().flatten() {
        let name = path.rsplit_once("node_modules/").map(|(_, name)| name);
        if let Some(name) = name.filter(|_| package["link"] != true) {
            add(&mut entries, name, package.to_string());
        }
    }
    let mut pending = vec![&lock["dependencies"]];
    while let Some(dependencies) = pending.pop() {
        for (name, package) in dependencies.as_object().into_iter().flatten() {
            add(&mut entries, name, package["version"].to_string());
            pending.push(&package["dependencies"]);
        }
    }
    entries
}

/// A heading names a package, as `name@version` or in a list of such specifications, and the indented lines below it
/// belong to it. Patched packages are left out: a patch is not from a registry.
fn blocks(text: &str) -> Entries {
    let mut entries = Entries::new();
    let mut names: Vec<String> = Vec::new();
    let mut block = String::new();
    let mut indent = 0;
    let mut finish = |names: &mut Vec<String>, block: &mut String| {
        let is_patched = block.contains("patch_hash=") || block.contains("@patch:");
        for name in names.drain(..).filter(|_| !is_patched) {
            add(&mut entries, &name, block.clone());
        }
        block.clear();
    };
    for line in text.lines() {
        let body = line.trim_start();
        let depth = line.len() - body.len();
        let heading = body
            .strip_suffix(':')
            .map(|it| it.trim_matches(['"', '\'']));
        let specs = heading.into_iter().flat_map(|it| it.split(", "));
        let named: Vec<String> = specs.filter_map(name_of_spec).collect();
        if !named.is_empty() && (names.is_empty() || depth <= indent) {
            finish(&mut names, &mut block);
            (names, indent) = (named, depth);
        } else if depth <= indent && !body.is_empty() {
            finish(&mut names, &mut block);
        }
        if !names.is_empty() {
            block.push_str(body);
            block.push('\n');
        }
    }
    finish(&mut names, &mut block);
    entries
}

/// The name in `name@rest`, where the name may begin with `@` and the specification with `/`.
fn name_of_spec(spec: &str) -> Option<String> {
    let spec = spec.trim_matches(['"', '\'']).trim_start_matches('/');
    let at = spec.get(1..)?.find('@')? + 1;
    Some(spec[..at].to_owned())
}

/// Lines `"path/of/name": ["name@version", …`.
fn bun(text: &str) -> Entries {
    let mut entries = Entries::new();
    for line in text.lines() {
        let Some((key, value)) = line.trim().split_once("\": [\"") else {
            continue;
        };
        if let Some(name) = name_of_spec(value.split('"').next().unwrap_or(value)) {
            add(&mut entries, &name, format!("{key} {value}"));
        }
    }
    entries
}

/// Lists of `[[package]]`. Packages of the project have a folder as their source.
fn toml_packages(text: &str) -> Entries {
    let lock: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut entries = Entries::new();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    for package in packages.into_iter().flatten() {
        let source = package.get("source").and_then(toml::Value::as_table);
        let source = source.or(package.as_table());
        let folders = ["editable", "virtual", "directory", "path"];
        let is_of_project =
            source.is_some_and(|it| folders.iter().any(|key| it.contains_key(*key)));
        let name = package.get("name").and_then(toml::Value::as_str);
        if let Some(name) = name.filter(|_| !is_of_project) {
            add(&mut entries, &python_name(name), package.to_string());
        }
    }
    entries
}

fn pipfile(text: &str) -> Entries {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut entries = Entries::new();
    for section in ["default", "develop"] {
        for (name, package) in lock[section].as_object().into_iter().flatten() {
            add(&mut entries, &python_name(name), package.to_string());
        }
    }
    entries
}

fn composer(text: &str) -> Entries {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut entries = Entries::new();
    for section in ["packages", "packages-dev"] {
        for package in lock[section].as_array().into_iter().flatten() {
            let name = package["name"].as_str().unwrap_or_default();
            add(&mut entries, name, package.to_string());
        }
    }
    entries
}

/// Lines `    name (version)`.
fn gems(text: &str) -> Entries {
    let mut entries = Entries::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("    ")) {
        if let Some((name, version)) = line.split_once(" (").filter(|_| !line.starts_with(' ')) {
            add(&mut entries, name, version);
        }
    }
    entries
}

fn requirements(text: &str) -> Entries {
    let mut entries = Entries::new();
    add_requirements(&mut entries, text.lines());
    entries
}

fn add_requirements<'t>(entries: &mut Entries, lines: impl Iterator<Item = &'t str>) {
    for line in lines.map(str::trim) {
        let end = line.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
        let name = &line[..end.unwrap_or(line.len())];
        let is_registry = !line.starts_with('-') && !line.contains('@') && !line.contains('/');
        if !name.is_empty() && is_registry {
            add(entries, &python_name(name), line);
        }
    }
}

fn package_json(text: &str) -> Entries {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let mut entries = Entries::new();
    for kind in ["", "dev", "optional", "peer"] {
        let table = match kind {
            "" => "dependencies".to_owned(),
            kind => format!("{kind}Dependencies"),
        };
        for (name, range) in manifest[table].as_object().into_iter().flatten() {
            let range = range.as_str().unwrap_or_default();
            if !range.contains([':', '/']) {
                add(&mut entries, name, range);
            }
        }
    }
    entries
}

fn pyproject(text: &str) -> Entries {
    let manifest: toml::Table = toml::from_str(text).unwrap_or_default();
    let project = manifest.get("project");
    let groups = [
        project.and_then(|it| it.get("optional-dependencies")),
        manifest.get("dependency-groups"),
    ];
    let groups = groups
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table);
    let lists = groups.flat_map(|table| table.values());
    let lists = lists.chain(project.and_then(|it| it.get("dependencies")));
    let mut entries = Entries::new();
    for list in lists.filter_map(toml::Value::as_array) {
        let lines = list.iter().filter_map(toml::Value::as_str);
        add_requirements(&mut entries, lines);
    }
    entries
}
