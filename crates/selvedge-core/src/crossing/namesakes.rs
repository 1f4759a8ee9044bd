//! Modules by the same name: an added file that a test may import instead of what it imported before.

use std::collections::BTreeMap;

use super::references::{Target, folder_of, name_of, stem_of};
use super::sides::{BaseFiles, BaseProject, HELPER_NAME, VENDORED};
use crate::guard::{ChangedFile, Language, is_test_path};

/// Files by the last part of the name that they are imported by.
pub(super) fn modules_of(base: &BaseFiles) -> BTreeMap<&str, Vec<&str>> {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in base.keys().filter(|path| has_modules(path)) {
        let names = modules.entry(Target::new(path).needle());
        names.or_default().push(path);
    }
    modules
}

impl<'a> BaseProject<'a> {
    /// Modules of the base whose names added files take.
    pub(super) fn find_namesakes(&self, changes: &[ChangedFile<'_>]) -> Vec<Target<'a>> {
        let added = changes.iter().filter(|change| change.before.is_none());
        let others = added.flat_map(|change| self.namesakes(change.path));
        others.map(Target::new).collect()
    }

    /// `app.pyi` beside `app.py`, and declarations of modules that have none.
    pub(super) fn declares_for_another(&self, path: &str) -> bool {
        if let Some(module) = path.strip_suffix(".pyi") {
            return self.base.contains_key(&format!("{module}.py"));
        }
        [".d.ts", ".d.mts", ".d.cts"]
            .iter()
            .any(|ending| path.ends_with(ending))
    }

    /// Whether a module of this name is on the test side, or another project's, so that a test may now import this one
    /// instead.
    pub(super) fn shadows_a_test_module(&self, path: &str) -> bool {
        let is_helper_name = HELPER_NAME.is_match(Target::new(path).needle());
        self.namesakes(path).any(|other| {
            let is_imported = is_helper_name || !is_test_path(name_of(other));
            VENDORED.is_match(other) || (is_imported && self.tests.contains(other))
        })
    }

    /// Files that are modules by the same name, as far as that does not depend on who imports them.
    fn namesakes<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'a str> + 's {
        let language = Language::of(path);
        let named = self.modules.get(Target::new(path).needle());
        let named = named.filter(|_| has_modules(path)).into_iter().flatten();
        named.copied().filter(move |other| {
            Language::of(other) == language
                && (language != Some(Language::Python)
                    || self.python_package(path) == self.python_package(other))
        })
    }

    /// The package that a module of Python is in: the folders above it that are packages.
    fn python_package<'p>(&self, path: &'p str) -> Vec<&'p str> {
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

/// Whether files of this language are modules that are found by a search path.
fn has_modules(path: &str) -> bool {
    matches!(
        Language::of(path),
        Some(Language::Python | Language::JavaScript | Language::Ruby)
    )
}
