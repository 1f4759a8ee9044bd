//! Finds the `selvedge.toml` of a directory.

use std::path::{Path, PathBuf};

pub(crate) const REPOSITORY_FILE: &str = "selvedge.toml";

/// Finds the nearest `selvedge.toml` from `dir` up to the root of its git repository. Outside of a repository only
/// `dir` itself is searched: a file in a parent directory, such as a shared temporary directory, must not decide which
/// commands run.
pub(crate) fn find_repository_file(dir: &Path) -> Option<PathBuf> {
    let root = git_root(dir).unwrap_or(dir);
    dir.ancestors()
        .take_while(|ancestor| ancestor.starts_with(root))
        .map(|ancestor| ancestor.join(REPOSITORY_FILE))
        .find(|file| file.symlink_metadata().is_ok())
}

/// The nearest directory with a `.git`, which is a file in worktrees and submodules.
pub(crate) fn git_root(dir: &Path) -> Option<&Path> {
    dir.ancestors()
        .find(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
}
