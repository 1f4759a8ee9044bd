//! Modules with the same name: an added file that a test may import instead of the original one.

use std::collections::BTreeMap;

use super::references::{ReferenceTarget, folder_of, join, name_of, stem_of};
use super::sides::{BaseFiles, BaseProject};
use crate::guard::{ChangedFile, HELPER_NAME, Pattern, SourceLanguage, is_test_path};

/// Extensions that a JavaScript or TypeScript import omits.
const SCRIPT_ENDINGS: [&str; 8] = ["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts"];
/// Folders whose content is imported as if it were in their parent folder.
const SOURCE_FOLDERS: [&str; 3] = ["src", "lib", "python"];

/// Indexes files by the last part of the name that imports use.
pub(super) fn index_modules(base: &BaseFiles) -> BTreeMap<&str, Vec<&str>> {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in base.keys().filter(|path| has_modules(path)) {
        let names = modules.entry(ReferenceTarget::new(path).needle());
        names.or_default().push(path);
    }
    modules
}

impl<'a> BaseProject<'a> {
    /// Modules of the base whose names are taken by added files.
    pub(super) fn find_namesakes(&self, changes: &[ChangedFile<'_>]) -> Vec<ReferenceTarget<'a>> {
        let added = changes.iter().filter(|change| change.before.is_none());
        let others = added.flat_map(|change| self.namesakes(change.path));
        others.map(ReferenceTarget::new).collect()
    }

    /// `app.pyi` next to `app.py`, and declarations of modules and globals that were there before.
    pub(super) fn declares_other_module(&self, path: &str, text: Option<&str>) -> bool {
        if path.strip_suffix(".pyi").is_some() {
            let mut others = self.namesakes(path);
            return others.any(|other| other.strip_suffix(".py").is_some());
        }
        let is_declaration = [".d.ts", ".d.mts", ".d.cts"]
            .iter()
            .any(|ending| path.ends_with(ending));
        is_declaration && !text.is_some_and(|text| self.declares_only_new(path, text))
    }

    /// Whether a declaration is about what the attempt added, too: about a JavaScript module next to it, or variables and
    /// kinds of files that no original source names.
    fn declares_only_new(&self, path: &str, text: &str) -> bool {
        static AUGMENTS: Pattern =
            Pattern::new(r"\bdeclare\s+(?:global|module|namespace)\b|///\s*<|\bexport\s+as\b");
        static EXPORTS: Pattern = Pattern::new(r"(?m)^\s*export\b");
        static FILES: Pattern =
            Pattern::new(r#"^declare\s+module\s+['"]\*(\.[\w.]+)['"]\s*(?:;|\{)"#);
        static VARIABLE: Pattern = Pattern::new(r"^declare\s+(?:const|let|var)\s+([\w$]+)\s*:");
        let stem = path.rsplit_once(".d.").map_or(path, |(stem, _)| stem);
        let is_new_module = || {
            let is_there = |ending: &&str| self.base.contains_key(&format!("{stem}.{ending}"));
            let is_added = |ending: &&str| self.added.contains(format!("{stem}.{ending}").as_str());
            SCRIPT_ENDINGS.iter().any(is_added) && !SCRIPT_ENDINGS.iter().any(is_there)
        };
        if EXPORTS.is_match(text) && !text.starts_with("declare") {
            return is_new_module() && !AUGMENTS.is_match(text);
        }
        let name = |pattern: &Pattern, line: &str| {
            let found = pattern.regex()?.captures(line)?;
            Some(found.get(1)?.as_str().to_owned())
        };
        let is_new = |line: &str| match name(&FILES, line) {
            Some(ending) => {
                !self.names_in_scripts(&format!("{ending}\""))
                    && !self.names_in_scripts(&format!("{ending}'"))
            }
            None => name(&VARIABLE, line).is_some_and(|name| !self.names_in_scripts(&name)),
        };
        let is_comment = |line: &str| {
            ["//", "/*", "*", " *"]
                .iter()
                .any(|mark| line.starts_with(mark))
                && !line.starts_with("///")
        };
        // Members of a declared module are indented.
        let mut outer = text
            .lines()
            .filter(|line| !line.starts_with([' ', '\t', '}']) && !line.trim().is_empty());
        outer.all(|line| is_comment(line) || is_new(line)) && !text.contains("///")
    }

    /// Whether a JavaScript or TypeScript file of the base contains a text.
    fn names_in_scripts(&self, part: &str) -> bool {
        let scripts = self
            .base
            .keys()
            .filter(|path| SourceLanguage::from_path(path) == Some(SourceLanguage::JavaScript));
        let mut texts = scripts.filter_map(|path| self.text(path));
        texts.any(|text| text.contains(part))
    }

    /// Whether an import that resolved to a source of the base now resolves to this file although that source still
    /// exists: a compiled `x.js` next to `x.ts`, a package next to a module, a package next to its `src` folder.
    pub(super) fn shadows_source(&self, path: &str) -> bool {
        let is_kept = |other: &str| {
            other != path && self.base.contains_key(other) && !self.removed.contains(other)
        };
        let (folder, name) = (folder_of(path), name_of(path));
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if SCRIPT_ENDINGS.contains(&ending) || matches!(ending, "json" | "node") {
            let module = path.strip_suffix(ending).unwrap_or(path);
            let folder = module.trim_end_matches('.');
            return SCRIPT_ENDINGS.iter().any(|other| {
                // Data is found by its full name, unless only a folder has the name without an extension.
                (SCRIPT_ENDINGS.contains(&ending) && is_kept(&format!("{module}{other}")))
                    || is_kept(&format!("{folder}/index.{other}"))
            }) || is_kept(&format!("{folder}/package.json"));
        }
        let is_package = matches!(name, "__init__.py" | "__init__.pyi");
        if is_package && !folder.is_empty() && is_kept(&format!("{folder}.py")) {
            return true;
        }
        match ending {
            "py" if self.is_in_other_part(path) => true,
            "py" => SOURCE_FOLDERS.iter().any(|sources| {
                let above = std::iter::successors(Some(folder), |folder| {
                    (!folder.is_empty()).then(|| folder_of(folder))
                });
                let is_package =
                    |folder: &str| self.base.contains_key(&format!("{folder}/__init__.py"));
                let mut places = above
                    .filter(|folder| !is_package(folder))
                    .filter_map(|folder| {
                        let within = path.strip_prefix(folder).unwrap_or(path);
                        let sources =
                            join(folder, sources).filter(|sources| !is_package(sources))?;
                        join(&sources, within.trim_start_matches('/'))
                    });
                places.any(|other| {
                    let module = other.trim_end_matches(".py").trim_end_matches("/__init__");
                    is_kept(&format!("{module}.py")) || is_kept(&format!("{module}/__init__.py"))
                })
            }),
            // `x.cpython-311-x86_64-linux-gnu.so`
            "so" | "pyd" => {
                let module = name.split('.').next().unwrap_or(name);
                join(folder, &format!("{module}.py")).is_some_and(|other| is_kept(&other))
            }
            _ => false,
        }
    }

    /// Whether a Python module of a namespace package is already in another of its folders: the search path decides
    /// which one is imported.
    fn is_in_other_part(&self, path: &str) -> bool {
        let folder = folder_of(path);
        let namespace = name_of(folder);
        !namespace.is_empty()
            && !SOURCE_FOLDERS.contains(&namespace)
            && self.has_folder(folder)
            && self.python_package(path).is_empty()
            && self.namesakes(path).any(|other| {
                other != path
                    && !self.removed.contains(other)
                    && name_of(folder_of(other)) == namespace
            })
    }

    /// Whether a module with this name is on the test side or belongs to another project, so that a test may now import
    /// this file instead.
    pub(super) fn shadows_test_module(&self, path: &str) -> bool {
        let is_helper_name = HELPER_NAME.is_match(ReferenceTarget::new(path).needle());
        self.namesakes(path).any(|other| {
            let is_imported = is_helper_name || !is_test_path(name_of(other));
            self.is_vendored(other) || (is_imported && self.tests.contains(other))
        })
    }

    /// Files that are modules with the same name, regardless of the importing file.
    fn namesakes<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'a str> + 's {
        let language = SourceLanguage::from_path(path);
        let named = self.modules.get(ReferenceTarget::new(path).needle());
        let named = named.filter(|_| has_modules(path)).into_iter().flatten();
        named.copied().filter(move |other| {
            SourceLanguage::from_path(other) == language
                && (language != Some(SourceLanguage::Python)
                    || self.python_package(path) == self.python_package(other))
        })
    }

    /// The package of a Python module: the enclosing folders that are packages.
    pub(super) fn python_package<'p>(&self, path: &'p str) -> Vec<&'p str> {
        let mut folder = folder_of(path);
        if stem_of(path) == "__init__" {
            folder = folder_of(folder);
        }
        let mut names = Vec::new();
        while !folder.is_empty() && self.base.contains_key(&format!("{folder}/__init__.py")) {
            names.push(name_of(folder));
            folder = folder_of(folder);
        }
        names
    }
}

/// Whether files of this language are modules that are found through a search path.
fn has_modules(path: &str) -> bool {
    matches!(
        SourceLanguage::from_path(path),
        Some(SourceLanguage::Python | SourceLanguage::JavaScript | SourceLanguage::Ruby)
    )
}
