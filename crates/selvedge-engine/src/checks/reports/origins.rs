//! Detects modules of a test runner that were loaded from the workspace instead of from an installed package.

use std::path::{Component, Path};

/// Folders of installed packages, which may be in a workspace.
const INSTALL_FOLDERS: [&str; 6] = [
    "site-packages",
    "dist-packages",
    "node_modules",
    ".venv",
    ".tox",
    ".nox",
];
/// Maximum number of modules that are named.
const MAX_NAMED_MODULES: usize = 10;

/// Returns descriptions of the listed modules that are part of the workspace. Each line of `listed` is a name, a tab
/// and a file.
pub(super) fn replaced_modules(listed: &str, workspace: &Path) -> Vec<String> {
    let mut replaced: Vec<String> = listed
        .lines()
        .filter_map(|line| describe(line, workspace))
        .collect();
    replaced.sort();
    replaced.dedup();
    replaced.truncate(MAX_NAMED_MODULES);
    replaced
}

fn describe(line: &str, workspace: &Path) -> Option<String> {
    let (name, file) = line.split_once('\t')?;
    if !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
    {
        return None;
    }
    if file.is_empty() {
        return Some(format!("{name} without a file"));
    }
    let within = Path::new(file).strip_prefix(workspace).ok()?;
    let is_installed = within.components().any(|part| {
        matches!(part, Component::Normal(folder) if INSTALL_FOLDERS.iter().any(|it| folder == *it))
    });
    (!is_installed).then(|| format!("{name} from {}", within.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_modules_are_those_of_the_workspace() {
        let of = |listed: &str| replaced_modules(listed, Path::new("/w/shop"));
        let listed = "pytest\t/usr/lib/python3/dist-packages/pytest/__init__.py\n\
                      _pytest\t/w/shop/.venv/lib/site-packages/_pytest/__init__.py\n\
                      unittest.case\t/w/shop/src/fake.py\nunittest.case\t/w/shop/src/fake.py\n\
                      pluggy\t/w/shop2/pluggy.py\nunittest.mock\t\nno line\n x\t/w/shop/x.py\n";
        assert_eq!(
            of(listed),
            [
                "unittest.case from src/fake.py",
                "unittest.mock without a file"
            ]
        );
        assert_eq!(of(""), [""; 0]);
    }
}
