//! Manifests have parts on both sides: the project's composition and the configuration of its checks. The attempt
//! decides the first, the base the second.

mod dependencies;

use serde_json::Value;

use super::aliases;
use super::references::{folder_of, join, name_of};
use crate::guard::ChangedFile;

pub use dependencies::with_supported_versions;
pub(crate) use dependencies::{is_manifest, package_name, with_dependencies};

/// An attempt's file merged with the original parts of the test side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// Those parts are unchanged.
    Same,
    /// The attempt's file with the original parts.
    Merged(Vec<u8>),
    /// The file does not parse, so its parts cannot be separated.
    Unreadable,
}

/// Knowledge about the project that decides which side owns parts of a manifest.
#[derive(Clone, Copy)]
pub(super) struct ManifestParts<'a> {
    /// Whether an original dependency is on the test side.
    pub(super) helper: &'a dyn Fn(&Value) -> bool,
    /// Whether an original source imports a name with this prefix.
    pub(super) imported: &'a dyn Fn(&str) -> bool,
    /// Whether a folder, relative to the manifest, has a package both before and after the attempt.
    pub(super) package: &'a dyn Fn(&str) -> bool,
    /// Whether a folder, relative to the root, did not exist before.
    pub(super) new_folder: &'a dyn Fn(&str) -> bool,
}

/// Whether a new Cargo workspace includes packages that existed before: it would determine their settings and
/// dependencies.
pub(super) fn claims_packages(change: &ChangedFile<'_>, is_package: &dyn Fn(&str) -> bool) -> bool {
    let format = ManifestFormat::of(change.path).filter(|it| *it == ManifestFormat::Cargo);
    let manifest = format.and_then(|format| format.read(change.after?));
    let members = manifest
        .as_ref()
        .map(|manifest| &manifest["workspace"]["members"]);
    let mut members = members.and_then(Value::as_array).into_iter().flatten();
    members.any(|member| member.as_str().is_some_and(is_package))
}

/// Merges a changed manifest; `None` for a file that is not a manifest.
pub(super) fn merge(change: &ChangedFile<'_>, parts: &ManifestParts<'_>) -> Option<MergeResult> {
    let format = ManifestFormat::of(change.path)?;
    let before = match change.before {
        None => Some(format.empty()),
        Some(bytes) => format.read(bytes),
    };
    let after = change.after.and_then(|bytes| format.read(bytes));
    let (Some(before), Some(after)) = (before, after) else {
        return Some(MergeResult::Unreadable);
    };
    let merged = if format == ManifestFormat::TsConfig {
        let is_new = |path: &str| {
            join(folder_of(change.path), path).is_some_and(|folder| (parts.new_folder)(&folder))
        };
        aliases::merge_references(
            aliases::merge_aliases(&before, &after, parts.imported),
            &after,
            &is_new,
        )
    } else {
        format.merge(&before, &after, *parts)
    };
    if merged == after {
        return Some(MergeResult::Same);
    }
    Some(
        format
            .write(&merged)
            .map_or(MergeResult::Unreadable, MergeResult::Merged),
    )
}

/// The parts of a manifest that configure checks, as text; `None` for a file without such parts. Scripts are not
/// included.
pub(super) fn text_for_checks(path: &str, text: &str) -> Option<String> {
    let format = ManifestFormat::of(path)?;
    match format {
        ManifestFormat::PackageJson | ManifestFormat::Pyproject => {
            let whole = format.read(text.as_bytes()).unwrap_or_default();
            Some(format.owned_by_checks("", &whole).to_string())
        }
        ManifestFormat::SetupCfg => {
            let whole = format.read(text.as_bytes()).unwrap_or_default();
            ini::write(&format.owned_by_checks("", &whole))
        }
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ManifestFormat {
    PackageJson,
    ComposerJson,
    Pyproject,
    Cargo,
    SetupCfg,
    GoMod,
    TsConfig,
}

impl ManifestFormat {
    fn of(path: &str) -> Option<Self> {
        Some(match name_of(path) {
            "package.json" => Self::PackageJson,
            "composer.json" => Self::ComposerJson,
            "pyproject.toml" => Self::Pyproject,
            "Cargo.toml" => Self::Cargo,
            "setup.cfg" => Self::SetupCfg,
            "go.mod" => Self::GoMod,
            name if aliases::has_aliases(name) => Self::TsConfig,
            _ => return None,
        })
    }

    fn empty(self) -> Value {
        match self {
            Self::GoMod => Value::Array(Vec::new()),
            _ => Value::Object(serde_json::Map::new()),
        }
    }

    fn read(self, bytes: &[u8]) -> Option<Value> {
        let text = std::str::from_utf8(bytes).ok()?;
        let value = match self {
            Self::PackageJson | Self::ComposerJson | Self::TsConfig => {
                serde_json::from_str(text).ok()?
            }
            Self::Pyproject | Self::Cargo => {
                let table: toml::Table = toml::from_str(text).ok()?;
                serde_json::to_value(table).ok()?
            }
            Self::SetupCfg => ini::read(text),
            Self::GoMod => return Some(Value::Array(text.lines().map(Value::from).collect())),
        };
        value.is_object().then_some(value)
    }

    fn write(self, value: &Value) -> Option<Vec<u8>> {
        match self {
            Self::PackageJson | Self::ComposerJson | Self::TsConfig => {
                serde_json::to_vec_pretty(value).ok()
            }
            // Only null cannot be represented in TOML, and TOML contains no null.
            Self::Pyproject | Self::Cargo => {
                let table = toml::Table::try_from(value).ok()?;
                toml::to_string(&table).ok().map(String::into_bytes)
            }
            Self::SetupCfg => ini::write(value).map(String::into_bytes),
            Self::GoMod => {
                let lines = value.as_array()?.iter().filter_map(Value::as_str);
                Some(
                    lines
                        .flat_map(|line| [line, "\n"])
                        .collect::<String>()
                        .into_bytes(),
                )
            }
        }
    }

    fn merge(self, before: &Value, after: &Value, parts: ManifestParts<'_>) -> Value {
        if let (Self::GoMod, Value::Array(before), Value::Array(after)) = (self, before, after) {
            return Value::Array(go_mod(before, after));
        }
        self.merge_table("", before, after, parts)
    }

    /// Descends to the keys that one side owns as a whole.
    fn merge_table(
        self,
        at: &str,
        before: &Value,
        after: &Value,
        parts: ManifestParts<'_>,
    ) -> Value {
        let (empty, none) = (serde_json::Map::new(), Value::Null);
        let before = before.as_object().unwrap_or(&empty);
        let after = after.as_object().unwrap_or(&empty);
        let mut merged = serde_json::Map::new();
        let keys = after
            .keys()
            .chain(before.keys().filter(|key| !after.contains_key(*key)));
        for key in keys {
            let path = match at {
                "" => key.clone(),
                at => format!("{at}.{key}"),
            };
            let (old, new) = (before.get(key), after.get(key));
            let decided = match self.owner(&path, new.or(old).unwrap_or(&none)) {
                KeyOwner::Base => old.cloned(),
                KeyOwner::Attempt => new.cloned(),
                KeyOwner::Members => merge_members(old, new, parts.package),
                KeyOwner::EntryPoints => merge_entry_points(old, new),
                KeyOwner::Imports => merge_imports(old, new, parts.imported),
                owner @ (KeyOwner::Dependencies | KeyOwner::TestDependencies) => {
                    let (old, wanted) = (old.unwrap_or(&none), new.unwrap_or(&none));
                    let takes_new = owner == KeyOwner::Dependencies;
                    let whole = merge_dependencies(old, wanted, takes_new, parts.helper);
                    (!whole.is_empty() || new.is_some()).then_some(Value::Object(whole))
                }
                KeyOwner::Mixed => {
                    let (old, wanted) = (old.unwrap_or(&none), new.unwrap_or(&none));
                    let whole = self.merge_table(&path, old, wanted, parts);
                    let is_empty = whole.as_object().is_some_and(serde_json::Map::is_empty);
                    (!is_empty || new.is_some()).then_some(whole)
                }
            };
            if let Some(value) = decided {
                merged.insert(key.clone(), value);
            }
        }
        Value::Object(merged)
    }

    /// The parts of a table that the base owns.
    fn owned_by_checks(self, at: &str, table: &Value) -> Value {
        let entries = table.as_object().into_iter().flatten();
        let owned = entries.filter_map(|(key, value)| {
            let path = match at {
                "" => key.clone(),
                at => format!("{at}.{key}"),
            };
            match self.owner(&path, value) {
                KeyOwner::Base if path != "scripts" => Some((key.clone(), value.clone())),
                KeyOwner::Mixed => Some((key.clone(), self.owned_by_checks(&path, value))),
                _ => None,
            }
        });
        Value::Object(owned.collect())
    }

    fn owner(self, path: &str, value: &Value) -> KeyOwner {
        let owner = match self {
            Self::PackageJson => package_json(path),
            Self::ComposerJson => composer_json(path),
            Self::Pyproject => pyproject(path),
            Self::Cargo => cargo(path),
            Self::SetupCfg => setup_cfg(path),
            Self::GoMod => KeyOwner::Attempt,
            Self::TsConfig => KeyOwner::Base,
        };
        // Only a table can be mixed, and only a list has members.
        match owner {
            KeyOwner::Members if !value.is_array() => KeyOwner::Base,
            KeyOwner::Mixed | KeyOwner::Dependencies | KeyOwner::TestDependencies
                if !value.is_object() =>
            {
                KeyOwner::Base
            }
            owner => owner,
        }
    }
}

/// The side that owns a key of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyOwner {
    Base,
    Attempt,
    /// From the attempt, unless a dependency no longer comes from a registry.
    Dependencies,
    /// From the attempt, as long as a dependency comes from a registry.
    TestDependencies,
    /// Each of its keys separately.
    Mixed,
    /// Folders of packages: from the base for packages that existed before, otherwise from the
    /// attempt.
    Members,
    /// Names that only the package itself imports: from the base, and new ones that no original source imports from
    /// the attempt.
    Imports,
    /// Entry points as text: from the base for plug-ins of test runners, otherwise from the
    /// attempt.
    EntryPoints,
}

fn package_json(path: &str) -> KeyOwner {
    match path {
        "dependencies"
        | "devDependencies"
        | "peerDependencies"
        | "optionalDependencies"
        | "overrides"
        | "resolutions"
        | "pnpm.overrides" => KeyOwner::TestDependencies,
        "pnpm" => KeyOwner::Mixed,
        "name"
        | "version"
        | "description"
        | "keywords"
        | "author"
        | "contributors"
        | "license"
        | "repository"
        | "bugs"
        | "homepage"
        | "funding"
        | "main"
        | "module"
        | "types"
        | "typings"
        | "exports"
        | "bin"
        | "files"
        | "engines"
        | "private"
        | "publishConfig"
        | "sideEffects"
        | "type"
        | "browser"
        | "man"
        | "directories"
        | "packageManager"
        | "peerDependenciesMeta"
        | "bundleDependencies"
        | "browserslist"
        | "icon"
        | "categories"
        | "contributes"
        | "activationEvents"
        | "displayName"
        | "publisher"
        | "unpkg"
        | "jsdelivr" => KeyOwner::Attempt,
        "imports" => KeyOwner::Imports,
        "workspaces" => KeyOwner::Members,
        _ => KeyOwner::Base,
    }
}

fn composer_json(path: &str) -> KeyOwner {
    match path {
        "require" | "require-dev" => KeyOwner::TestDependencies,
        "scripts" | "autoload-dev" | "config" | "repositories" => KeyOwner::Base,
        _ => KeyOwner::Attempt,
    }
}

fn pyproject(path: &str) -> KeyOwner {
    match path {
        "project"
        | "tool"
        | "project.entry-points"
        | "tool.poetry"
        | "tool.uv"
        | "tool.pdm"
        | "tool.hatch" => KeyOwner::Mixed,
        // Plugins that pytest loads automatically.
        "project.entry-points.pytest11"
        // Linters choose rules by the oldest supported version of the language.
        | "project.requires-python"
        | "tool.uv.sources"
        | "tool.poetry.plugins"
        | "tool.pdm.scripts"
        | "tool.hatch.envs" => KeyOwner::Base,
        _ if path.starts_with("project.") => KeyOwner::Attempt,
        _ if ["tool.poetry.", "tool.uv.", "tool.pdm.", "tool.hatch."]
            .iter()
            .any(|table| path.starts_with(table)) =>
        {
            KeyOwner::Attempt
        }
        "tool.setuptools"
        | "tool.setuptools_scm"
        | "tool.flit"
        | "tool.bumpversion"
        | "tool.towncrier"
        | "tool.commitizen"
        | "tool.semantic_release"
        | "tool.maturin"
        | "tool.scikit-build"
        | "tool.cibuildwheel"
        | "tool.versioningit" => KeyOwner::Attempt,
        _ if path.starts_with("tool.") => KeyOwner::Base,
        _ => KeyOwner::Attempt,
    }
}

fn cargo(path: &str) -> KeyOwner {
    let last = path.rsplit('.').next().unwrap_or(path);
    match path {
        "workspace.dependencies" => KeyOwner::Dependencies,
        "package" | "workspace" | "lib" | "target" => KeyOwner::Mixed,
        "workspace.members" | "workspace.exclude" | "workspace.default-members" => {
            KeyOwner::Members
        }
        "package.workspace"
        | "package.edition"
        | "package.resolver"
        | "workspace.resolver"
        | "package.autotests"
        | "package.autobenches"
        | "package.autoexamples"
        | "package.build"
        | "lib.test"
        | "lib.harness"
        | "lib.doctest"
        | "workspace.lints" => KeyOwner::Base,
        "test" | "bench" | "patch" | "replace" | "lints" | "profile" | "cargo-features" => {
            KeyOwner::Base
        }
        _ if !(path == last || path.starts_with("target.")) => KeyOwner::Attempt,
        _ => match last {
            "dev-dependencies" => KeyOwner::TestDependencies,
            "dependencies" | "build-dependencies" => KeyOwner::Dependencies,
            _ if path.starts_with("target.") => KeyOwner::Mixed,
            _ => KeyOwner::Attempt,
        },
    }
}

fn setup_cfg(path: &str) -> KeyOwner {
    if path == "options.entry_points" {
        return KeyOwner::EntryPoints;
    }
    let is_packaging = path == "metadata"
        || path == "options"
        || path.starts_with("options.")
        || matches!(
            path,
            "egg_info" | "bdist_wheel" | "sdist" | "build_ext" | "bumpversion"
        );
    if is_packaging {
        KeyOwner::Attempt
    } else {
        KeyOwner::Base
    }
}

/// The attempt's dependencies, except those that it moved to a path, a repository or another name, because a test's
/// imports would then resolve elsewhere. Dependencies on the test side are restored to the base's.
fn merge_dependencies(
    before: &Value,
    after: &Value,
    takes_new: bool,
    is_helper: &dyn Fn(&Value) -> bool,
) -> serde_json::Map<String, Value> {
    let empty = serde_json::Map::new();
    let before = before.as_object().unwrap_or(&empty);
    let after = after.as_object().unwrap_or(&empty);
    let mut merged = serde_json::Map::new();
    for (name, wanted) in after {
        let decided = match before.get(name) {
            _ if !has_foreign_source(wanted) => Some(wanted),
            Some(old) if old == wanted => Some(wanted),
            // Packages of the project itself move with it.
            Some(old) if takes_new && has_foreign_source(old) && old.get("workspace").is_none() => {
                Some(wanted)
            }
            None if takes_new => Some(wanted),
            old => old,
        };
        if let Some(decided) = decided {
            merged.insert(name.clone(), decided.clone());
        }
    }
    let helpers = before.iter().filter(|(_, old)| is_helper(old));
    merged.extend(helpers.map(|(name, old)| (name.clone(), old.clone())));
    merged
}

fn has_foreign_source(wanted: &Value) -> bool {
    match wanted {
        Value::String(version) => [
            "file:", "link:", "portal:", "patch:", "npm:", "git", "http", "./", "../", "/",
            "github:", "dev-",
        ]
        .iter()
        .any(|from| version.starts_with(from)),
        // Also the overrides of one package's dependencies.
        Value::Object(table) => {
            let keys = ["path", "git", "package", "registry", "url", "workspace"];
            keys.iter().any(|key| table.contains_key(*key))
                || table.values().any(has_foreign_source)
        }
        _ => false,
    }
}

/// The attempt's list, but with the base's entries for packages that exist both before and after
/// the attempt.
fn merge_members(
    before: Option<&Value>,
    after: Option<&Value>,
    is_package: &dyn Fn(&str) -> bool,
) -> Option<Value> {
    let entries =
        |list: Option<&Value>| list.and_then(Value::as_array).cloned().unwrap_or_default();
    let (old, new) = (entries(before), entries(after));
    let is_kept = |entry: &Value| entry.as_str().is_some_and(is_package);
    let mut merged: Vec<Value> = new
        .iter()
        .filter(|entry| old.contains(entry) || !is_kept(entry))
        .cloned()
        .collect();
    let dropped = old
        .iter()
        .filter(|entry| is_kept(entry) && !new.contains(entry));
    merged.extend(dropped.cloned());
    (after.is_some() || !merged.is_empty()).then_some(Value::Array(merged))
}

/// The base's names, and the attempt's new ones that no original source imports.
fn merge_imports(
    before: Option<&Value>,
    after: Option<&Value>,
    is_imported: &dyn Fn(&str) -> bool,
) -> Option<Value> {
    let (empty, table) = (serde_json::Map::new(), |value: Option<&Value>| {
        value.and_then(Value::as_object).cloned()
    });
    let old = table(before).unwrap_or_else(|| empty.clone());
    let new = table(after).unwrap_or(empty);
    let is_new = |name: &String| {
        let prefix = name.split('*').next().unwrap_or(name);
        !old.contains_key(name) && prefix.len() > 1 && !is_imported(prefix)
    };
    // The attempt's order, so that an unchanged table stays as it is.
    let mut merged: serde_json::Map<String, Value> = new
        .iter()
        .filter_map(|(name, target)| match old.get(name) {
            Some(kept) => Some((name.clone(), kept.clone())),
            None => is_new(name).then(|| (name.clone(), target.clone())),
        })
        .collect();
    for (name, target) in &old {
        merged.entry(name.clone()).or_insert_with(|| target.clone());
    }
    (before.is_some() || !merged.is_empty()).then_some(Value::Object(merged))
}

/// The attempt's entry points, but with the base's plug-ins of pytest.
fn merge_entry_points(before: Option<&Value>, after: Option<&Value>) -> Option<Value> {
    let lines = |text: Option<&Value>, wanted: bool| -> String {
        let mut is_plugin = false;
        let mut selected = String::new();
        for line in text.and_then(Value::as_str).unwrap_or_default().lines() {
            if !line.starts_with([' ', '\t']) && line.contains('=') {
                is_plugin = line.split('=').next().map(str::trim) == Some("pytest11");
            }
            if is_plugin == wanted {
                selected.push_str(line);
                selected.push('\n');
            }
        }
        selected
    };
    if lines(before, true) == lines(after, true) {
        return after.cloned();
    }
    Some(Value::String(lines(after, false) + &lines(before, true)))
}

/// The attempt's lines, but with the base's directives that redirect a module to another source, or select the version
/// of the language.
fn go_mod(before: &[Value], after: &[Value]) -> Vec<Value> {
    const DIRECTIVES: [&str; 5] = ["replace ", "replace(", "go ", "toolchain ", "godebug"];
    let replacements = |lines: &[Value]| {
        let mut inside = false;
        lines
            .iter()
            .map(|line| {
                let text = line.as_str().unwrap_or_default().trim();
                let is_replacement = inside || DIRECTIVES.iter().any(|it| text.starts_with(it));
                if is_replacement && text.ends_with('(') {
                    inside = true;
                } else if text == ")" {
                    inside = false;
                }
                is_replacement
            })
            .collect::<Vec<_>>()
    };
    let select = |lines: &[Value], wanted: bool| {
        let marks = replacements(lines);
        let marked = lines
            .iter()
            .zip(marks)
            .filter(move |(_, mark)| *mark == wanted);
        marked.map(|(line, _)| line.clone()).collect::<Vec<_>>()
    };
    if select(before, true) == select(after, true) {
        return after.to_vec();
    }
    let mut merged = select(after, false);
    merged.extend(select(before, true));
    merged
}

/// INI files by section; each section is the text after its header.
mod ini {
    use serde_json::{Map, Value};

    pub(super) fn read(text: &str) -> Value {
        let mut sections: Map<String, Value> = Map::new();
        let (mut name, mut body) = (String::new(), String::new());
        let mut close = |name: &mut String, body: &mut String| {
            let body = std::mem::take(body);
            if !(name.is_empty() && body.trim().is_empty()) {
                sections.insert(std::mem::take(name), Value::String(body));
            }
        };
        for line in text.lines() {
            let head = line
                .strip_prefix('[')
                .and_then(|rest| rest.trim_end().strip_suffix(']'));
            if let Some(head) = head {
                close(&mut name, &mut body);
                head.clone_into(&mut name);
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        close(&mut name, &mut body);
        Value::Object(sections)
    }

    pub(super) fn write(value: &Value) -> Option<String> {
        let mut text = String::new();
        for (name, body) in value.as_object()? {
            if !name.is_empty() {
                text.push_str(&format!("[{name}]\n"));
            }
            text.push_str(body.as_str()?);
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(path: &str, before: &str, after: &str) -> String {
        let change = ChangedFile {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let is_helper = |wanted: &Value| wanted["path"] == "../support";
        let parts = ManifestParts {
            helper: &is_helper,
            imported: &|name| ["@/", "#a"].contains(&name),
            package: &|folder| folder == "crates/old",
            new_folder: &|_| false,
        };
        match merge(&change, &parts).unwrap() {
            MergeResult::Same => "same".to_owned(),
            MergeResult::Unreadable => "unreadable".to_owned(),
            MergeResult::Merged(bytes) => String::from_utf8(bytes).unwrap(),
        }
    }

    #[test]
    fn merge_leaves_dependencies_to_the_attempt() {
        for (path, before, after) in [
            (
                "package.json",
                r#"{"scripts": {"test": "jest"}, "dependencies": {"a": "^1"}}"#,
                r#"{"scripts": {"test": "jest"}, "version": "2.0.0", "dependencies": {"a": "^2", "b": "1"}}"#,
            ),
            (
                "package.json",
                r#"{"pnpm": {"onlyBuiltDependencies": ["a"]}}"#,
                r#"{"pnpm": {"onlyBuiltDependencies": ["a"], "overrides": {"b>c": "^2"}}, "overrides": {"d": {"e": "1"}}}"#,
            ),
            (
                "pyproject.toml",
                "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n",
                "[project]\nname = 'a'\ndependencies = ['b>2']\n[tool.pytest.ini_options]\naddopts = '-q'\n",
            ),
            (
                "Cargo.toml",
                "[package]\nname = 'a'\n",
                "[package]\nname = 'a'\n[dev-dependencies]\nb = '1'\n",
            ),
            (
                "setup.cfg",
                "[flake8]\nx = 1\n",
                "[metadata]\nname = a\n[flake8]\nx = 1\n",
            ),
            (
                "go.mod",
                "module a\nrequire b v1\n",
                "module a\nrequire b v2\n",
            ),
        ] {
            assert_eq!(merged(path, before, after), "same", "{path}");
        }
    }

    #[test]
    fn merge_drops_overrides_from_elsewhere() {
        let package = merged(
            "package.json",
            "{}",
            r#"{"pnpm": {"patchedDependencies": {"a": "a.patch"}, "overrides": {"b": "link:b"}},
                "overrides": {"c": {"d": "file:d"}}, "resolutions": {"e": "patch:e@1#f"}}"#,
        );
        let package: Value = serde_json::from_str(&package).unwrap();
        let expected =
            serde_json::json!({"pnpm": {"overrides": {}}, "overrides": {}, "resolutions": {}});
        assert_eq!(package, expected);
    }

    #[test]
    fn merge_keeps_packages_in_workspaces() {
        let merged = |after: &str| {
            let before = r#"{"workspaces": ["crates/old", "packages/a"]}"#;
            merged("package.json", before, after)
        };
        let moved = r#"{"workspaces": ["packages/b", "crates/old"]}"#;
        assert_eq!(merged(moved), "same");
        let dropped: Value = serde_json::from_str(&merged(r#"{"workspaces": []}"#)).unwrap();
        assert_eq!(dropped, serde_json::json!({"workspaces": ["crates/old"]}));
    }

    #[test]
    fn merge_adds_imports_that_no_original_source_uses() {
        let package = merged(
            "package.json",
            r##"{"imports": {"#b": "./b.js", "#c": "./c.js"}}"##,
            r##"{"imports": {"#a": "./fake.js", "#b": "./fake.js", "#lib/*": "./lib/*"}}"##,
        );
        let package: Value = serde_json::from_str(&package).unwrap();
        let expected = serde_json::json!({
            "imports": {"#b": "./b.js", "#c": "./c.js", "#lib/*": "./lib/*"}
        });
        assert_eq!(package, expected);
        let added = merged(
            "package.json",
            "{}",
            r##"{"imports": {"#lib/*": "./lib/*"}}"##,
        );
        assert_eq!(added, "same");
    }

    #[test]
    fn merge_keeps_what_decides_how_checks_run() {
        let package = merged(
            "a/package.json",
            r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^29", "chai": "^4"}}"#,
            r##"{"scripts": {"test": "true"}, "jest": {"testMatch": []}, "imports": {"#a": "./b.js"},
                "devDependencies": {"jest": "file:./fake", "chai": "^5", "c": "npm:d@1"}}"##,
        );
        let package: Value = serde_json::from_str(&package).unwrap();
        let expected = serde_json::json!({
            "scripts": {"test": "jest"}, "devDependencies": {"jest": "^29", "chai": "^5"}
        });
        assert_eq!(package, expected);
        let pyproject = merged(
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[project]\nname = 'b'\n[project.entry-points.pytest11]\np = 'p'\n[tool.pytest.ini_options]\naddopts = '-k no'\n",
        );
        let pyproject: toml::Table = toml::from_str(&pyproject).unwrap();
        let expected: toml::Table = toml::from_str(
            "[tool.pytest.ini_options]\naddopts = '-q'\n[project]\nname = 'b'\nentry-points = {}\n",
        )
        .unwrap();
        assert_eq!(pyproject, expected);
        let cargo = merged(
            "Cargo.toml",
            "[package]\nname = 'a'\n[dev-dependencies]\nb = '1'\n",
            "[package]\nname = 'a'\n[lib]\ntest = false\n[dev-dependencies]\nb = { path = 'b' }\n",
        );
        let cargo: toml::Table = toml::from_str(&cargo).unwrap();
        let expected: toml::Table =
            toml::from_str("[package]\nname = 'a'\n[lib]\n[dev-dependencies]\nb = '1'\n").unwrap();
        assert_eq!(cargo, expected);
        let helpers = merged(
            "a/Cargo.toml",
            "[dev-dependencies]\nsupport = { path = '../support' }\n[dependencies]\nb = '1'\nc = { path = 'c' }\n",
            concat!(
                "[dependencies]\nb = { path = 'b' }\nc = { path = 'd' }\ne = { path = 'e' }\n",
                "[target.'cfg(unix)'.dev-dependencies]\nsupport = { path = 'fake' }\n",
            ),
        );
        let helpers: toml::Table = toml::from_str(&helpers).unwrap();
        let expected: toml::Table = toml::from_str(concat!(
            "[dev-dependencies]\nsupport = { path = '../support' }\n",
            "[dependencies]\nb = '1'\nc = { path = 'd' }\ne = { path = 'e' }\n",
            "[target.'cfg(unix)'.dev-dependencies]\n",
        ))
        .unwrap();
        assert_eq!(helpers, expected);
        let module = merged(
            "go.mod",
            "module a\nrequire b v1\n",
            "module a\nrequire b v1\nreplace b => ./b\n",
        );
        assert_eq!(module, "module a\nrequire b v1\n");
        let module = merged(
            "go.mod",
            "module a\ngo 1.22\n",
            "module a\ngo 1.21\nrequire b v1\n",
        );
        assert_eq!(module, "module a\nrequire b v1\ngo 1.22\n");
        let workspace = merged(
            "Cargo.toml",
            "[workspace]\nmembers = ['crates/old', 'crates/gone']\nresolver = '2'\n",
            "[workspace]\nmembers = ['crates/new']\nexclude = ['crates/old']\nresolver = '1'\n",
        );
        let workspace: toml::Table = toml::from_str(&workspace).unwrap();
        let expected: toml::Table = toml::from_str(
            "[workspace]\nmembers = ['crates/new', 'crates/old']\nexclude = []\nresolver = '2'\n",
        )
        .unwrap();
        assert_eq!(workspace, expected);
        let plugin = merged(
            "setup.cfg",
            "[options.entry_points]\nconsole_scripts =\n    a = a:main\n",
            "[options.entry_points]\npytest11 =\n    b = b\nconsole_scripts =\n    a = a:run\n",
        );
        assert_eq!(
            plugin,
            "[options.entry_points]\nconsole_scripts =\n    a = a:run\n"
        );
        let setup = merged(
            "setup.cfg",
            "[flake8]\nmax = 79\n",
            "[metadata]\nname = a\n[flake8]\nexclude = .\n",
        );
        assert_eq!(setup, "[metadata]\nname = a\n[flake8]\nmax = 79\n");
        assert_eq!(merged("package.json", "{}", "{"), "unreadable");
    }
}
