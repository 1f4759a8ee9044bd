//! Sources that belong to the product although their names, or the words that they contain, suggest tests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::config_files::side_of_config;
use super::references::{
    ReferenceTarget, References, folder_of, join, name_of, stem_of, strip_code_ending,
};
use super::sides::{BaseFiles, BaseProject};
use super::test_names::tested_name;
use crate::guard::{Pattern, SourceLanguage};

/// Manifests whose folder is the root of a project, or of a part of one.
static MANIFEST: Pattern = Pattern::new(concat!(
    r"^(?:package\.json|composer\.json|pyproject\.toml|setup\.(?:py|cfg)|Cargo\.toml|go\.mod|pom\.xml|Gemfile|[^/]+\.gemspec",
    r"|build\.gradle(?:\.kts)?|mix\.exs)$",
));
/// Folders in the root of a project that contain what it delivers.
const PRODUCT_FOLDERS: [&str; 7] = ["src", "lib", "app", "bin", "exe", "libexec", "cmd"];
/// Folders of compiled code, for which manifests name the compiled file.
const OUTPUT_FOLDERS: [&str; 5] = ["dist", "lib", "build", "out", "esm"];
/// The tables of `package.json` that name what a package delivers.
const ENTRIES: [&str; 7] = [
    "main", "module", "browser", "types", "typings", "exports", "bin",
];
/// A module as the target of a Python entry point: `"name = package.module:object"`.
static ENTRY_POINT: Pattern = Pattern::new(
    r#"(?m)^[ \t"']*[\w.-]+[ \t]*=[ \t]*([A-Za-z_][\w.]*)[ \t]*(?::[\w.]+)?[ \t"',\]]*$"#,
);
/// A package that is a plug-in of pytest, by the names that pytest's plug-ins have.
static PYTEST_PLUGIN: Pattern = Pattern::new(r"^(?:src/|lib/)pytest_\w+(?:\.py$|/)");

/// Whether a manifest's content is needed to know what a project delivers.
pub(super) fn is_product_manifest(path: &str) -> bool {
    matches!(
        name_of(path),
        "package.json" | "composer.json" | "go.mod" | "Cargo.toml"
    )
}

/// What the manifests of a project declare about its product.
#[derive(Debug, Default)]
pub(super) struct Product {
    /// Folders with a manifest; the root, too.
    roots: BTreeSet<String>,
    /// Paths without the extension of code, which manifests name as the product.
    files: BTreeSet<String>,
    /// Prefixes of paths: a manifest delivers everything that begins with one of them.
    prefixes: BTreeSet<String>,
    /// Folders with sources that an autoloader of the product finds.
    folders: BTreeSet<String>,
}

impl Product {
    pub(super) fn read(base: &BaseFiles) -> Self {
        let mut product = Self::default();
        product.roots.insert(String::new());
        for (path, bytes) in base {
            if !MANIFEST.is_match(name_of(path)) {
                continue;
            }
            let folder = folder_of(path);
            product.roots.insert(folder.to_owned());
            let text = bytes.as_deref().and_then(|it| std::str::from_utf8(it).ok());
            let text = text.unwrap_or_default();
            match name_of(path) {
                "package.json" => product.add_package(folder, text),
                "composer.json" => product.add_autoloaded(folder, text),
                "pyproject.toml" => product.add_python_project(folder, text),
                "Cargo.toml" => product.add_crate(folder, text),
                "setup.py" | "setup.cfg" => {
                    let found = ENTRY_POINT.regex().map(|regex| regex.captures_iter(text));
                    for found in found
                        .into_iter()
                        .flatten()
                        .filter(|_| text.contains("entry_points"))
                    {
                        product.add_module(folder, &found[1]);
                    }
                }
                _ => {}
            }
        }
        product
    }

    fn add_package(&mut self, folder: &str, text: &str) {
        let manifest: Value = serde_json::from_str(text).unwrap_or_default();
        let mut named = Vec::new();
        let entries = ENTRIES.iter().filter_map(|name| manifest.get(*name));
        entries.for_each(|value| collect_strings(value, &mut named));
        if manifest.get("main").is_none() {
            named.push("index");
        }
        for name in named {
            let Some((first, rest)) = name.trim_start_matches("./").split_once('/') else {
                self.add_file(folder, name);
                continue;
            };
            self.add_file(folder, name);
            if OUTPUT_FOLDERS.contains(&first) {
                let rest = ["esm/", "cjs/", "types/", "src/"]
                    .iter()
                    .find_map(|kind| rest.strip_prefix(kind))
                    .unwrap_or(rest);
                self.add_file(folder, &format!("src/{rest}"));
            }
        }
    }

    fn add_file(&mut self, folder: &str, name: &str) {
        let Some(path) = join(folder, name) else {
            return;
        };
        match path.split_once('*') {
            Some(("", _)) => {}
            Some((prefix, _)) => {
                self.prefixes.insert(prefix.to_owned());
            }
            None => {
                let path = path.strip_suffix(".d.ts").unwrap_or(&path);
                self.files.insert(strip_code_ending(path).to_owned());
            }
        }
    }

    fn add_autoloaded(&mut self, folder: &str, text: &str) {
        let manifest: Value = serde_json::from_str(text).unwrap_or_default();
        let mut named = Vec::new();
        if let Some(autoload) = manifest.get("autoload") {
            collect_strings(autoload, &mut named);
        }
        let folders = named.into_iter().filter_map(|name| join(folder, name));
        self.folders
            .extend(folders.filter(|folder| !folder.is_empty()));
    }

    fn add_python_project(&mut self, folder: &str, text: &str) {
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let table = |path: &[&str]| {
            let mut value = manifest.get(path[0])?;
            for name in &path[1..] {
                value = value.get(*name)?;
            }
            value.as_table()
        };
        let groups = [
            table(&["project", "entry-points"]),
            table(&["tool", "poetry", "plugins"]),
        ];
        let groups = groups.into_iter().flatten().flat_map(toml::Table::values);
        let groups = groups.filter_map(toml::Value::as_table);
        let scripts = [
            table(&["project", "scripts"]),
            table(&["project", "gui-scripts"]),
            table(&["tool", "poetry", "scripts"]),
        ];
        let tables = groups.chain(scripts.into_iter().flatten());
        for target in tables.flat_map(toml::Table::values) {
            let target = target.as_str().unwrap_or_default();
            self.add_module(folder, target.split(':').next().unwrap_or_default().trim());
        }
    }

    /// Adds the roots of a package's library and programs.
    fn add_crate(&mut self, folder: &str, text: &str) {
        let manifest: toml::Table = text.parse().unwrap_or_default();
        if !manifest.contains_key("package") {
            return;
        }
        let library = manifest.get("lib").into_iter();
        let programs = manifest.get("bin").and_then(toml::Value::as_array);
        let targets = library.chain(programs.into_iter().flatten());
        let named = targets.filter_map(|target| target.get("path")?.as_str());
        for path in ["src/lib.rs", "src/main.rs"].into_iter().chain(named) {
            self.add_file(folder, path);
        }
    }

    fn add_module(&mut self, folder: &str, module: &str) {
        let path = module.replace('.', "/");
        for sources in ["", "src/", "lib/"] {
            self.add_file(folder, &format!("{sources}{path}"));
            self.add_file(folder, &format!("{sources}{path}/__init__"));
        }
    }

    /// Whether a manifest names this file as something that the project delivers, alone or with its folder.
    pub(super) fn publishes(&self, path: &str) -> bool {
        let in_folder = || {
            let mut prefixes = self.prefixes.iter();
            prefixes.any(|prefix| path.starts_with(prefix))
        };
        self.names(path) || (SourceLanguage::from_path(path).is_some() && in_folder())
    }

    /// Whether a manifest names exactly this file.
    pub(super) fn names(&self, path: &str) -> bool {
        let without = strip_code_ending(path);
        let folder = (stem_of(path) == "index").then(|| folder_of(path));
        self.files.contains(without)
            || folder.is_some_and(|folder| self.files.contains(folder))
            || PYTEST_PLUGIN.is_match(path)
    }

    /// Whether the file is where projects have the sources of what they deliver.
    pub(super) fn has_in_folder(&self, path: &str) -> bool {
        let is_below = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let in_root = |root: &String| {
            let rest = path.strip_prefix(root.as_str());
            let rest = rest.filter(|rest| root.is_empty() || rest.starts_with('/'));
            let mut parts = rest.unwrap_or_default().trim_start_matches('/').split('/');
            let first = parts.next().unwrap_or_default();
            PRODUCT_FOLDERS.contains(&first) && parts.next().is_some()
        };
        self.folders.iter().any(is_below) || self.roots.iter().any(in_root)
    }

    /// Whether the folder is the root of a project or of a part of one.
    pub(super) fn is_root(&self, folder: &str) -> bool {
        self.roots.contains(folder)
    }
}

fn collect_strings<'v>(value: &'v Value, strings: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(values) => values.iter().for_each(|it| collect_strings(it, strings)),
        Value::Object(map) => map.values().for_each(|it| collect_strings(it, strings)),
        _ => {}
    }
}

/// Code that builds, describes or measures a project.
static PROJECT_TOOLING: Pattern = Pattern::new(
    r"(?:^|/)(?:setup|ez_setup|noxfile|conf|tasks)\.py$|(?:^|/)(?:docs?|examples?|bench(?:es|marks?)?|scripts?)/",
);

impl BaseProject<'_> {
    /// Whether the project has a test that is named after the file and refers to it: a file with its own tests is code
    /// under test rather than a test helper.
    pub(super) fn has_own_test(&self, path: &str) -> bool {
        let target = ReferenceTarget::new(path);
        let language = SourceLanguage::from_path(path);
        let wanted = target.needle().to_lowercase();
        let named = self.base.keys().filter(|other| {
            *other != path
                && SourceLanguage::from_path(other) == language
                && tested_name(other).is_some_and(|name| name.to_lowercase() == wanted)
        });
        named.filter(|test| self.is_test_by_name(test)).any(|test| {
            let text = self.text(test).unwrap_or_default();
            References::of(test, text).contains(test, &target)
        })
    }

    /// Whether the project has other code on the work side than modules like this one. Otherwise the module is the code
    /// under test, not a test helper, even if it contains assertions.
    pub(super) fn has_other_code(&self, path: &str) -> bool {
        let language = SourceLanguage::from_path(path);
        let package = self.python_package(path);
        self.work_code().any(|other| {
            let is_alike = || {
                !package.is_empty()
                    && self.python_package(other) == package
                    && self.looks_like_helper(other)
                    && !self.has_own_test(other)
            };
            other != path && SourceLanguage::from_path(other) == language && !is_alike()
        })
    }

    /// The same for code in any language.
    pub(super) fn has_code_besides(&self, path: &str) -> bool {
        self.has_other_code(path)
            || (self.python_package(path).is_empty()
                && self.work_code().any(|other| {
                    other != path
                        && SourceLanguage::from_path(other) != SourceLanguage::from_path(path)
                }))
    }

    fn work_code(&self) -> impl Iterator<Item = &str> {
        let code = self.base.keys().map(String::as_str);
        code.filter(|other| {
            SourceLanguage::from_path(other).is_some()
                && !self.tests.contains(other)
                && side_of_config(other).is_none()
                && !PROJECT_TOOLING.is_match(other)
                && self.text(other).is_none_or(|text| !text.trim().is_empty())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_from_manifests() {
        let base: BaseFiles = [
            (
                "package.json",
                r#"{"main": "./src/index.js", "exports": {"./validate": {"import": "./dist/esm/validate.js"}, "./rules/*": "./rules/*.js"}}"#,
            ),
            ("tools/one/package.json", "{}"),
            ("one/Cargo.toml", "[package]\nname = 'one'\n[[bin]]\npath = 'programs/run.rs'\n"),
            ("Cargo.toml", "[workspace]\n"),
            (
                "pyproject.toml",
                "[project.entry-points.pytest11]\nhello = 'hello.plugin:Plugin'\n",
            ),
            (
                "old/setup.py",
                "setup(entry_points={'pytest11': [\n    'old = old.plugin',\n]})\n",
            ),
            ("composer.json", r#"{"autoload": {"psr-4": {"A\\": "php/"}}, "autoload-dev": {"psr-4": {"T\\": "dev/"}}}"#),
        ]
        .map(|(path, text)| (path.to_owned(), Some(text.as_bytes().to_vec())))
        .into();
        let product = Product::read(&base);
        for path in [
            "src/index.ts",
            "src/validate.ts",
            "rules/deep/one.js",
            "tools/one/index.js",
            "src/hello/plugin.py",
            "old/old/plugin.py",
            "src/pytest_steps/plugin.py",
            "one/src/lib.rs",
            "one/programs/run.rs",
        ] {
            assert!(product.publishes(path), "{path}");
        }
        for path in [
            "src/matchers.js",
            "tools/one/expect.js",
            "hello/cases.py",
            "src/lib.rs",
            "one/src/expect.rs",
            "rules.json",
        ] {
            assert!(!product.publishes(path), "{path}");
        }
        for path in ["lib/a/b.rb", "tools/one/src/a.js", "php/A/B.php"] {
            assert!(product.has_in_folder(path), "{path}");
        }
        for path in ["lib", "dev/B.php", "support/lib/a.py", "tools/a.js"] {
            assert!(!product.has_in_folder(path), "{path}");
        }
    }
}
