//! `package.json`, and the packages of a workspace.

use std::collections::BTreeMap;

use ignore::gitignore::GitignoreBuilder;
use serde::Deserialize;
use serde_json::Value;

use crate::init::files::RepositoryDirectory;

pub(super) const MANIFEST: &str = "package.json";

/// How deep scripts that run other scripts are followed.
const MAX_NESTED_SCRIPTS: u8 = 3;

/// The parts of `package.json` that detection needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PackageJson {
    scripts: BTreeMap<String, String>,
    dependencies: BTreeMap<String, Value>,
    dev_dependencies: BTreeMap<String, Value>,
    workspaces: Value,
    #[serde(rename = "packageManager")]
    pub(super) manager: Option<String>,
}

impl PackageJson {
    /// Parses the manifest: `None` if it does not exist, empty if it is not valid.
    pub(super) fn read(at: &RepositoryDirectory<'_>) -> Option<Self> {
        Some(serde_json::from_str(at.text(MANIFEST)?).unwrap_or_default())
    }

    /// The scripts among these that can serve as a check.
    pub(super) fn scripts<'n>(&self, names: &[&'n str]) -> impl Iterator<Item = &'n str> {
        let serves = |name: &&str| self.text(name).is_some();
        names.iter().copied().filter(serves)
    }

    /// The commands of a script that are joined with `&&`, if it can serve as a check.
    pub(super) fn commands(&self, name: &str) -> Vec<&str> {
        let commands = self.text(name).unwrap_or_default().split("&&");
        commands.map(str::trim).collect()
    }

    /// Whether a script, or one that it runs, begins a command with the program of a dependency that is not installed,
    /// although others are.
    pub(super) fn lacks_program(&self, at: &RepositoryDirectory<'_>, script: &str) -> bool {
        at.has("node_modules") && self.lacks_program_within(at, script, MAX_NESTED_SCRIPTS)
    }

    fn lacks_program_within(&self, at: &RepositoryDirectory<'_>, script: &str, depth: u8) -> bool {
        self.commands(script).iter().any(|command| {
            let words: Vec<&str> = command.split_whitespace().collect();
            let lacks = |program: &str| {
                self.depends_on(program)
                    && at.installed_program("node_modules/.bin", program).is_none()
            };
            match words.as_slice() {
                [_, "run", script, ..] if depth > 0 => {
                    self.lacks_program_within(at, script, depth - 1)
                }
                [program, ..] => lacks(program),
                [] => false,
            }
        })
    }

    /// The text of a script that can serve as a check.
    fn text(&self, name: &str) -> Option<&str> {
        let script = self.scripts.get(name)?;
        is_check(script).then_some(script)
    }

    pub(super) fn depends_on(&self, package: &str) -> bool {
        self.dependencies.contains_key(package) || self.dev_dependencies.contains_key(package)
    }
}

/// Whether a script can be a check: it ends by itself, changes nothing, and is not the placeholder of `npm init`.
fn is_check(script: &str) -> bool {
    let arguments = || script.split_whitespace();
    let watches =
        arguments().any(|argument| matches!(argument, "--watch" | "--watchAll" | "watch"));
    let changes = arguments().any(|argument| matches!(argument, "--fix" | "--write"));
    !watches && !changes && !script.contains("no test specified") && !script.trim().is_empty()
}

/// The packages of a workspace, given its root.
pub(super) fn workspace_members(root: &RepositoryDirectory<'_>) -> Vec<PackageJson> {
    root.descendants_with(MANIFEST)
        .filter(|directory| is_member(root, directory))
        .filter_map(|directory| PackageJson::read(&directory))
        .collect()
}

/// Whether a package belongs to the workspace with this root.
pub(super) fn is_member(root: &RepositoryDirectory<'_>, package: &RepositoryDirectory<'_>) -> bool {
    // Patterns work as in `.gitignore`, including `!`, but are anchored at the root.
    let mut patterns = GitignoreBuilder::new("/");
    for pattern in member_patterns(root) {
        let (not, pattern) = pattern
            .strip_prefix('!')
            .map_or(("", &*pattern), |rest| ("!", rest));
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        if patterns
            .add_line(None, &format!("{not}/{pattern}"))
            .is_err()
        {
            return false;
        }
    }
    let path = package.path_from(root);
    patterns
        .build()
        .is_ok_and(|patterns| patterns.matched(path, true).is_ignore())
}

/// `workspaces` of `package.json` (a list, or a table with `packages`), or else the packages of `pnpm-workspace.yaml`.
fn member_patterns(root: &RepositoryDirectory<'_>) -> Vec<String> {
    let workspaces = PackageJson::read(root).unwrap_or_default().workspaces;
    let list = workspaces
        .as_array()
        .or_else(|| workspaces["packages"].as_array());
    if let Some(list) = list {
        return list
            .iter()
            .filter_map(|pattern| pattern.as_str().map(str::to_owned))
            .collect();
    }
    let lines = root.text_or_empty("pnpm-workspace.yaml").lines();
    lines
        .skip_while(|line| line.trim_end() != "packages:")
        .skip(1)
        .map(str::trim)
        .take_while(|line| line.is_empty() || line.starts_with(['-', '#']))
        .filter_map(|line| line.strip_prefix('-'))
        .map(|pattern| pattern.trim().trim_matches(['"', '\'']).to_owned())
        .collect()
}
