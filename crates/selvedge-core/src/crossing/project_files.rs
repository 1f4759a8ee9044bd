//! Files of the project itself that look like test files.

use super::references::{folder_of, name_of};
use super::sides::BaseProject;
use crate::guard::Pattern;

/// Modules of test runners, which are loaded from the first folder that has them.
static RUNNERS: Pattern = Pattern::new(r"(?:^|/)_?(pluggy|pytest)(?:\.py|/)");
/// Files that have the name of a Python project, apart from `setup.py`.
const MANIFESTS: [&str; 2] = ["pyproject.toml", "setup.cfg"];
/// Whether a file without code has the project's name.
pub(super) fn is_project_manifest(path: &str) -> bool {
    MANIFESTS.contains(&name_of(path))
}

impl BaseProject<'_> {
    /// Whether a file would be loaded as a module of the test runner, except in the project that develops this module.
    pub(super) fn is_runner_module(&self, path: &str) -> bool {
        let found = RUNNERS.regex().and_then(|regex| regex.captures(path));
        let runner = found.as_ref().and_then(|found| found.get(1));
        runner.is_some_and(|runner| !self.is_named(path, runner.as_str()))
    }

    /// Whether a manifest in the file's folder or a parent folder gives the project this name.
    fn is_named(&self, path: &str, name: &str) -> bool {
        let is_above = |manifest: &str| {
            let rest = path.strip_prefix(folder_of(manifest));
            folder_of(manifest).is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let manifests = self.base.keys().filter(|manifest| {
            (is_project_manifest(manifest) || name_of(manifest) == "setup.py") && is_above(manifest)
        });
        let mut lines = manifests
            .filter_map(|manifest| self.text(manifest))
            .flat_map(str::lines);
        lines.any(|line| {
            let value = line.trim_start().strip_prefix("name");
            let value = value.and_then(|rest| rest.trim_start().strip_prefix('='));
            value.is_some_and(|it| it.trim_matches([' ', '\t', '"', '\'', ',']) == name)
        })
    }
}
