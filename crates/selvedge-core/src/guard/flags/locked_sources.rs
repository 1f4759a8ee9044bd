//! Sources of locked dependencies. A lock file decides which code is installed, also for test runners, and nothing in
//! its manifest has to change for that. So a dependency that no longer comes from where it came from is flagged, and a
//! new one that comes from no registry which the project already uses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Flag;
use crate::guard::ChangedFile;
use crate::model::{FindingKind, FindingSeverity, is_dependency_input};
use crate::prompt::one_line;

/// Maximum number of characters of a source that are shown.
const MAX_SOURCE_CHARS: usize = 80;
/// Archives that package managers install.
const ARCHIVES: [&str; 7] = [
    ".tgz", ".tar.gz", ".tar.bz2", ".tar", ".zip", ".whl", ".gem",
];
/// The registry that a package manager uses if none is named.
const DEFAULT_REGISTRY: &str = "the registry";

/// Where a dependency comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A registry, or a server with its files: scheme and host.
    Registry(String),
    /// A folder, usually of the project itself.
    Folder,
    /// An archive, a repository, a patch, or another package under this name.
    Other(String),
}

impl Source {
    fn default_registry() -> Self {
        Self::Registry(DEFAULT_REGISTRY.to_owned())
    }
}

/// The sources of each dependency.
type Sources = BTreeMap<String, BTreeSet<Source>>;

/// Flags a changed lock file or list of requirements.
pub(super) fn flags(change: &ChangedFile<'_>) -> Vec<Flag> {
    let (Some(read), Some(after)) = (reader(change.path), change.after) else {
        return Vec::new();
    };
    let before = change.before.map(|bytes| read(&text(bytes)));
    let before = before.unwrap_or_default();
    let registries: BTreeSet<_> = before.values().flatten().collect();
    let mut flags = Vec::new();
    for (name, sources) in read(&text(after)) {
        let earlier = before.get(&name);
        let is_known = |source: &&Source| match (earlier, source) {
            // It is that of the original settings.
            (_, source) if **source == Source::default_registry() => true,
            (Some(earlier), source) => earlier.contains(source),
            (None, Source::Folder) => true,
            (None, Source::Registry(_)) => before.is_empty() || registries.contains(source),
            (None, source @ Source::Other(_)) => registries.contains(source),
        };
        if let Some(source) = sources.iter().find(|source| !is_known(source)) {
            let what = describe(&name, earlier, source);
            let kind = FindingKind::DependencySource;
            flags.push(Flag::new(None, kind, FindingSeverity::Strong, what));
        }
    }
    flags
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn describe(name: &str, earlier: Option<&BTreeSet<Source>>, source: &Source) -> String {
    let source = match source {
        Source::Registry(text) | Source::Other(text) => one_line(text, MAX_SOURCE_CHARS),
        Source::Folder => "a folder".to_owned(),
    };
    let name = one_line(name, MAX_SOURCE_CHARS);
    match earlier {
        Some(_) => format!("installs `{name}` from another source than before: {source}"),
        None => format!("installs the new `{name}` from an unknown source: {source}"),
    }
}

fn reader(path: &str) -> Option<fn(&str) -> Sources> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_text = |name: &str| name.rsplit('.').next() == Some("txt");
    Some(match name {
        "package-lock.json" | "npm-shrinkwrap.json" => npm,
        "yarn.lock" => yarn,
        "pnpm-lock.yaml" => pnpm,
        "bun.lock" => bun,
        "uv.lock" | "poetry.lock" | "pdm.lock" => python,
        "Cargo.lock" => cargo,
        "Pipfile.lock" => pipfile,
        "composer.lock" => composer,
        "Gemfile.lock" | "gems.locked" => bundler,
        _ if is_dependency_input(path) && is_text(name) => requirements,
        _ => return None,
    })
}

fn add(sources: &mut Sources, name: &str, source: Source) {
    sources.entry(name.to_owned()).or_default().insert(source);
}

/// The source that a URL, a path or a reference names; a URL of a registry contains the name of the package.
fn source_of(text: &str, name: &str) -> Source {
    let url = text.strip_prefix("registry+").unwrap_or(text);
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if is_web {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let letters = |text: &str| -> String {
            let letters = text.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        if name.is_empty() || letters(path).contains(&letters(name)) {
            return Source::Registry(format!("{scheme}://{host}"));
        }
    }
    let is_archive = ARCHIVES.iter().any(|ending| text.ends_with(ending));
    let folder = text
        .strip_prefix("link:")
        .or_else(|| text.strip_prefix("portal:"));
    let folder = folder.or_else(|| text.strip_prefix("workspace:"));
    let path = text.strip_prefix("file:").unwrap_or(text);
    if folder.is_some() || !is_archive && !path.contains([':', '@']) {
        return Source::Folder;
    }
    // Without the commit or the hash.
    Source::Other(text.split('#').next().unwrap_or(text).to_owned())
}

/// The name and the rest of `name@rest`, where the name may begin with `@`.
fn split_name(spec: &str) -> Option<(&str, &str)> {
    let at = spec.get(1..)?.find('@')? + 1;
    Some((&spec[..at], &spec[at + 1..]))
}

/// The source of `name@rest`, which is locked for the package `name`.
fn source_of_spec(spec: &str, name: &str) -> Source {
    let Some((own, rest)) = split_name(spec) else {
        return source_of(spec, name);
    };
    let version = rest.strip_prefix("npm:").unwrap_or(rest);
    let is_builtin_patch = rest.starts_with("patch:") && rest.contains("builtin<");
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    if own != name {
        Source::Other(spec.to_owned())
    } else if is_version || is_builtin_patch {
        Source::default_registry()
    } else {
        source_of(rest, name)
    }
}

fn npm(text: &str) -> Sources {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut sources = Sources::new();
    for (path, package) in lock["packages"].as_object().into_iter().flatten() {
        if let Some((_, name)) = path.rsplit_once("node_modules/") {
            add_npm(&mut sources, name, package);
        }
    }
    let mut pending = vec![&lock["dependencies"]];
    while let Some(dependencies) = pending.pop() {
        for (name, package) in dependencies.as_object().into_iter().flatten() {
            add_npm(&mut sources, name, package);
            pending.push(&package["dependencies"]);
        }
    }
    sources
}

fn add_npm(sources: &mut Sources, name: &str, package: &Value) {
    let own = package["name"].as_str().filter(|own| *own != name);
    let resolved = package["resolved"].as_str();
    // Of the first version of the format, which has no links.
    let version = package["version"].as_str();
    let version = version.filter(|it| it.contains(':') && resolved.is_none());
    if let Some(own) = own {
        add(sources, name, Source::Other(format!("npm:{own}")));
    } else if package["link"] == true {
        add(sources, name, Source::Folder);
    } else if let Some(source) = resolved.or(version) {
        add(sources, name, source_of(source, name));
    } else {
        // npm can be configured to name no registry.
        add(sources, name, Source::default_registry());
    }
}

/// Both formats: a heading lists what is resolved, and below it `resolved "URL"` or `resolution: "name@…"`.
fn yarn(text: &str) -> Sources {
    let mut sources = Sources::new();
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !line.starts_with([' ', '#']) {
            let specs = line.trim_end_matches(':').split(", ");
            names.clear();
            for (name, range) in specs.filter_map(|spec| split_name(spec.trim_matches('"'))) {
                names.push(name);
                let is_local = ["file:", "link:", "portal:", "git", "http"];
                if is_local.iter().any(|start| range.starts_with(start)) {
                    add(&mut sources, name, source_of(range, name));
                }
            }
            continue;
        }
        let line = line.trim();
        let value = |key: &str| Some(line.strip_prefix(key)?.trim().trim_matches('"'));
        for name in &names {
            if let Some(url) = value("resolved ") {
                let url = url.split('#').next().unwrap_or(url);
                add(&mut sources, name, source_of(url, name));
            } else if let Some(spec) = value("resolution:") {
                add(&mut sources, name, source_of_spec(spec, name));
            }
        }
    }
    sources
}

/// Headings are `name@version:` for packages, and names with a `version:` below them for dependencies of the project.
fn pnpm(text: &str) -> Sources {
    let mut sources = Sources::new();
    let mut heading = "";
    for line in text.lines() {
        let body = line.trim();
        if let Some(key) = body.strip_suffix(':') {
            heading = key.trim_matches(['\'', '"']).trim_start_matches('/');
            let spec = heading.split('(').next().unwrap_or(heading);
            if let Some((name, _)) = split_name(spec) {
                add(&mut sources, name, source_of_spec(spec, name));
            }
            continue;
        }
        let name = split_name(heading).map_or(heading, |(name, _)| name);
        if let Some(version) = body.strip_prefix("version: ") {
            let version = version.trim_matches('\'').split('(').next();
            let version = version.filter(|it| !it.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(version) = version {
                let alias = split_name(version).map(|_| Source::Other(version.to_owned()));
                let source = alias.unwrap_or_else(|| source_of(version, name));
                add(&mut sources, name, source);
            }
        } else if let Some(resolution) = body.strip_prefix("resolution: ") {
            let inner = resolution.trim_matches(['{', '}']).split(", ");
            for (key, value) in inner.filter_map(|part| part.split_once(": ")) {
                match key {
                    "tarball" | "repo" => add(&mut sources, name, source_of(value, name)),
                    "directory" => add(&mut sources, name, Source::Folder),
                    _ => {}
                }
            }
        }
    }
    sources
}

/// Lines `"path/of/name": ["name@version", "registry", …`.
fn bun(text: &str) -> Sources {
    let mut sources = Sources::new();
    for line in text.lines() {
        let Some((key, value)) = line.trim().split_once("\": [\"") else {
            continue;
        };
        let key = key.trim_start_matches('"');
        let mut values = value.split("\", ");
        let (Some(spec), registry) = (values.next(), values.next()) else {
            continue;
        };
        let spec = spec.split('"').next().unwrap_or(spec);
        let parts: Vec<&str> = key.split('/').collect();
        let name = match parts.as_slice() {
            [.., scope, _] if scope.starts_with('@') => &key[key.rfind('@').unwrap_or(0)..],
            [.., name] => name,
            [] => key,
        };
        add(&mut sources, name, source_of_spec(spec, name));
        let registry = registry.map(|it| it.trim_matches('"'));
        if let Some(registry) = registry.filter(|it| it.starts_with("http")) {
            add(&mut sources, name, source_of(registry, ""));
        }
    }
    sources
}

fn python(text: &str) -> Sources {
    toml_packages(text, &Source::default_registry())
}

/// Packages of the project have no source.
fn cargo(text: &str) -> Sources {
    toml_packages(text, &Source::Folder)
}

/// Lists of `[[package]]`; `unnamed` is the source of a package that has none.
fn toml_packages(text: &str, unnamed: &Source) -> Sources {
    let lock: toml::Table = toml::from_str(text).unwrap_or_default();
    let mut sources = Sources::new();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    for package in packages.into_iter().flatten() {
        let field = |key: &str| package.get(key).and_then(toml::Value::as_str);
        let name = field("name").unwrap_or_default();
        match package.get("source") {
            Some(toml::Value::String(source)) => {
                let named = if source.starts_with("registry+") {
                    ""
                } else {
                    name
                };
                add(&mut sources, name, source_of(source, named));
            }
            Some(source) => add_source_table(&mut sources, name, source),
            None => {
                let mut places = ["git", "url", "path"].into_iter();
                let place = places.find_map(field);
                let source = place.map_or_else(|| unnamed.clone(), |it| source_of(it, name));
                add(&mut sources, name, source);
            }
        }
        let archives = ["wheels", "sdist"].into_iter();
        let archives = archives.filter_map(|key| package.get(key)).flat_map(|it| {
            let list = it.as_array().map(Vec::as_slice);
            list.unwrap_or(std::slice::from_ref(it))
        });
        for archive in archives {
            let place = ["url", "path"].into_iter().find_map(|key| archive.get(key));
            if let Some(place) = place.and_then(toml::Value::as_str) {
                add(&mut sources, name, source_of(place, name));
            }
        }
    }
    sources
}

/// `{ registry = "URL" }` and `{ editable = "folder" }` of uv, `type` and `url` of Poetry.
fn add_source_table(sources: &mut Sources, name: &str, source: &toml::Value) {
    let field = |key: &str| source.get(key).and_then(toml::Value::as_str);
    let registry = match field("type") {
        Some("legacy") => field("url"),
        Some(_) => None,
        None => field("registry"),
    };
    let folder = ["editable", "virtual", "directory"];
    let is_folder =
        || folder.into_iter().any(|key| field(key).is_some()) || field("type") == Some("directory");
    let source = if let Some(registry) = registry {
        source_of(registry, "")
    } else if is_folder() {
        Source::Folder
    } else {
        let place = ["path", "git", "url"].into_iter().find_map(field);
        Source::Other(place.unwrap_or_default().to_owned())
    };
    add(sources, name, source);
}

fn pipfile(text: &str) -> Sources {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut sources = Sources::new();
    let groups = lock.as_object().into_iter().flatten();
    for (_, group) in groups.filter(|(key, _)| *key != "_meta") {
        for (name, package) in group.as_object().into_iter().flatten() {
            let mut places = ["path", "file", "git"].into_iter();
            let place = places.find_map(|key| package[key].as_str());
            let other = Source::default_registry();
            add(
                &mut sources,
                name,
                place.map_or(other, |it| source_of(it, name)),
            );
        }
    }
    let indexes = lock["_meta"]["sources"].as_array();
    for url in indexes.into_iter().flatten() {
        let url = url["url"].as_str().unwrap_or_default();
        add(&mut sources, "index", source_of(url, ""));
    }
    sources
}

fn composer(text: &str) -> Sources {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let mut sources = Sources::new();
    let lists = ["packages", "packages-dev"].into_iter();
    let lists = lists.filter_map(|list| lock[list].as_array());
    for package in lists.flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        for place in [&package["dist"], &package["source"]] {
            if place["type"] == "path" {
                add(&mut sources, name, Source::Folder);
            } else if let Some(url) = place["url"].as_str() {
                add(&mut sources, name, source_of(url, ""));
            }
        }
    }
    sources
}

/// Sections by kind of source, with its address and the packages from it.
fn bundler(text: &str) -> Sources {
    let mut sources = Sources::new();
    let (mut section, mut remote) = ("", "");
    for line in text.lines() {
        if !line.starts_with(' ') {
            (section, remote) = (line.trim(), "");
        } else if let Some(address) = line.strip_prefix("  remote: ") {
            remote = address;
        } else if let Some(gem) = line.strip_prefix("    ").filter(|it| !it.starts_with(' ')) {
            let name = gem.split(' ').next().unwrap_or(gem);
            let source = match section {
                "GEM" => source_of(remote, ""),
                "PATH" => Source::Folder,
                "GIT" | "PLUGIN SOURCE" => Source::Other(remote.to_owned()),
                _ => continue,
            };
            add(&mut sources, name, source);
        }
    }
    sources
}

/// Lines of pip: `name==1`, `name @ URL`, paths, and options that name an index.
fn requirements(text: &str) -> Sources {
    let mut sources = Sources::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim();
        let option = line.split_once([' ', '=']).unwrap_or((line, ""));
        match option {
            ("", _) => {}
            (
                index @ ("-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links"),
                value,
            ) => {
                let value = Source::Other(value.trim().to_owned());
                add(&mut sources, index, value);
            }
            ("-e" | "--editable", path) => add(&mut sources, path, source_of(path, "")),
            _ if line.starts_with(['-', '#']) => {}
            _ => {
                let (name, place) = line.split_once('@').unwrap_or((line, ""));
                let end = name.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
                let name = name[..end.unwrap_or(name.len())].to_lowercase();
                let source = match place.trim() {
                    "" if line.contains('/') => source_of(line, ""),
                    "" => Source::default_registry(),
                    place => Source::Other(place.to_owned()),
                };
                add(&mut sources, &name, source);
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flagged(path: &str, before: &str, after: &str) -> Vec<String> {
        let change = ChangedFile {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let flags = flags(&change).into_iter();
        flags.map(|flag| flag.what).collect()
    }

    /// A lock file of each format, an honest change of versions, and one of the source.
    #[test]
    fn locked_dependency_from_another_source_is_flagged() {
        let cases = [
            (
                "package-lock.json",
                r#"{"packages": {"": {}, "node_modules/a/node_modules/mocha": {"version": "9.0.0",
                    "resolved": "https://npm.example.org/mocha/-/mocha-9.0.0.tgz"}}}"#,
                ("9.0.0", "9.1.0"),
                (
                    "https://npm.example.org/mocha/-/mocha-9.0.0.tgz",
                    "file:lib/mocha.tgz",
                ),
            ),
            (
                "package-lock.json",
                r#"{"packages": {"node_modules/mocha": {
                    "resolved": "https://npm.example.org/mocha/-/mocha-9.0.0.tgz"}}}"#,
                ("9.0.0", "9.1.0"),
                ("mocha/-/mocha", "evil/-/evil"),
            ),
            (
                "yarn.lock",
                "mocha@^9.0.0:\n  version \"9.0.0\"\n  resolved \"https://yarn.example.org/mocha/-/mocha-9.0.0.tgz#ab\"\n",
                ("9.0.0", "9.1.0"),
                ("yarn.example.org", "other.example.com"),
            ),
            (
                "yarn.lock",
                "\"mocha@npm:^9.0.0\":\n  version: 9.0.0\n  resolution: \"mocha@npm:9.0.0\"\n",
                ("9.0.0", "9.1.0"),
                (
                    "mocha@npm:9.0.0\"\n",
                    "mocha@patch:mocha@npm%3A9.0.0#./mocha.patch\"\n",
                ),
            ),
            (
                "pnpm-lock.yaml",
                "importers:\n  .:\n    devDependencies:\n      mocha:\n        specifier: ^9.0.0\n        version: 9.0.0\npackages:\n  mocha@9.0.0:\n    resolution: {integrity: sha512-ab}\n",
                ("9.0.0", "9.1.0"),
                ("{integrity", "{tarball: file:lib/mocha.tgz, integrity"),
            ),
            (
                "pnpm-lock.yaml",
                "importers:\n  .:\n    devDependencies:\n      mocha:\n        specifier: ^9.0.0\n        version: 9.0.0\n",
                ("9.0.0", "9.1.0"),
                ("version: 9.0.0", "version: evil@9.0.0"),
            ),
            (
                "bun.lock",
                "    \"a/mocha\": [\"mocha@9.0.0\", \"\", {}, \"sha512-ab\"],\n",
                ("9.0.0", "9.1.0"),
                ("[\"mocha@9.0.0\"", "[\"mocha@file:lib/mocha.tgz\""),
            ),
            (
                "uv.lock",
                "[[package]]\nname = \"pytest-cov\"\nversion = \"8.0.0\"\nsource = { registry = \"https://pypi.example.org/simple\" }\nwheels = [\n { url = \"https://files.example.org/packages/ab/pytest_cov-8.0.0-py3-none-any.whl\" } ]\n",
                ("8.0.0", "8.1.0"),
                (
                    "{ registry = \"https://pypi.example.org/simple\" }",
                    "{ path = \"lib/pytest.whl\" }",
                ),
            ),
            (
                "uv.lock",
                "[[package]]\nname = \"pytest\"\nsource = { registry = \"https://pypi.example.org/simple\" }\nsdist = { url = \"https://files.example.org/packages/ab/pytest-8.0.0.tar.gz\" }\n",
                ("8.0.0", "8.1.0"),
                ("https://files.example.org", "file:///tmp"),
            ),
            (
                "poetry.lock",
                "[[package]]\nname = \"pytest\"\nversion = \"8.0.0\"\n",
                ("8.0.0", "8.1.0"),
                (
                    "\"8.0.0\"\n",
                    "\"8.0.0\"\n[package.source]\ntype = \"directory\"\nurl = \"lib\"\n",
                ),
            ),
            (
                "Cargo.lock",
                "[[package]]\nname = \"insta\"\nversion = \"1.0.0\"\nsource = \"registry+https://index.example.org/crates\"\n",
                ("1.0.0", "1.1.0"),
                (
                    "registry+https://index.example.org/crates",
                    "git+https://github.com/evil/insta#ab",
                ),
            ),
            (
                "Cargo.lock",
                "[[package]]\nname = \"insta\"\nversion = \"1.0.0\"\nsource = \"registry+https://index.example.org/crates\"\n",
                ("1.0.0", "1.1.0"),
                (
                    "source = \"registry+https://index.example.org/crates\"\n",
                    "",
                ),
            ),
            (
                "package-lock.json",
                r#"{"packages": {"node_modules/mocha": {"version": "9.0.0"}}}"#,
                ("9.0.0", "9.1.0"),
                (
                    "\"version\"",
                    "\"resolved\": \"https://other.example.com/mocha.tgz\", \"version\"",
                ),
            ),
            (
                "requirements.txt",
                "pytest==8.0.0\n",
                ("8.0.0", "8.1.0"),
                (
                    "pytest",
                    "--index-url https://other.example.com/simple\npytest",
                ),
            ),
            (
                "Pipfile.lock",
                r#"{"_meta": {}, "develop": {"pytest": {"version": "==8.0.0"}}}"#,
                ("8.0.0", "8.1.0"),
                ("\"version\"", "\"path\": \"./lib\", \"version\""),
            ),
            (
                "composer.lock",
                r#"{"packages-dev": [{"name": "phpunit/phpunit", "version": "9.0.0",
                    "dist": {"type": "zip", "url": "https://api.github.com/repos/phpunit/phpunit/zipball/ab"}}]}"#,
                ("9.0.0", "9.1.0"),
                ("\"zip\"", "\"path\""),
            ),
            (
                "Gemfile.lock",
                "GEM\n  remote: https://gems.example.org/\n  specs:\n    rspec (3.0.0)\n",
                ("3.0.0", "3.1.0"),
                (
                    "GEM\n  remote: https://gems.example.org/",
                    "PATH\n  remote: lib",
                ),
            ),
            (
                "requirements-dev.txt",
                "pytest==8.0.0  # runner\n",
                ("8.0.0", "8.1.0"),
                ("pytest==8.0.0", "pytest @ file:lib/pytest.whl"),
            ),
        ];
        for (path, before, (old, new), (source, other)) in cases {
            assert_ne!(before, before.replace(old, new), "{path}");
            let upgraded = flagged(path, before, &before.replace(old, new));
            assert_eq!(upgraded, Vec::<String>::new(), "{path}");
            assert_ne!(before, before.replace(source, other), "{path}");
            let moved = flagged(path, before, &before.replace(source, other));
            assert_eq!(moved.len(), 1, "{path}: {moved:?}");
        }
    }

    #[test]
    fn new_dependency_of_a_known_registry_or_of_the_project_is_not_flagged() {
        let lock = |more: &str| {
            format!(
                r#"{{"packages": {{"node_modules/a": {{"resolved": "https://npm.example.org/a/-/a-1.tgz"}}{more}}}}}"#
            )
        };
        let added = |more: &str| flagged("package-lock.json", &lock(""), &lock(more));
        let package =
            |resolved: &str| format!(r#", "node_modules/b": {{"resolved": "{resolved}"}}"#);
        let registry = package("https://npm.example.org/b/-/b-1.tgz");
        assert_eq!(added(&registry), Vec::<String>::new());
        let link = r#", "node_modules/b": {"resolved": "packages/b", "link": true}"#;
        assert_eq!(added(link), Vec::<String>::new());
        let unnamed = r#", "node_modules/b": {"version": "1"}"#;
        assert_eq!(added(unnamed), Vec::<String>::new());
        for other in [
            "https://example.com/b.tgz",
            "git+ssh://git@github.com/b/b.git#ab",
            "file:b.tgz",
        ] {
            let flags = added(&package(other));
            let other = other.trim_end_matches("#ab");
            let known = ["https://example.com/b.tgz"].contains(&other);
            let source = if known { "https://example.com" } else { other };
            let expected = format!("installs the new `b` from an unknown source: {source}");
            assert_eq!(flags, [expected]);
        }
        let text = lock("");
        let nothing = ChangedFile {
            path: "web/package-lock.json",
            before: None,
            after: Some(text.as_bytes()),
        };
        assert!(flags(&nothing).is_empty());
    }
}
