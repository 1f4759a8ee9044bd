//! Paths in a work tree that git obeys because the repository's settings name them: a folder of hooks, and included
//! files of settings.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::copy::{path_from, resolve_as_far_as_possible};
use crate::workspace::git::{self, GitProgram};

/// A setting of a repository, of its user, or of the system.
#[derive(Debug)]
pub(super) struct GitSetting {
    file: PathBuf,
    /// In lower case.
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

/// Returns the settings that apply in a repository. It is trusted: no agent could write its settings.
pub(super) fn git_settings(git: &GitProgram, git_dir: &Path, work_tree: &Path) -> Vec<GitSetting> {
    let mut command = git.user_command(work_tree);
    command.env("GIT_DIR", git_dir);
    command.args(["config", "--list", "--includes", "--show-origin", "--null"]);
    // Git cannot read the settings, so it obeys none of them.
    let listing = git::output_of(command, "read the settings", work_tree).unwrap_or_default();
    let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let pairs = fields.chunks_exact(2).filter_map(|pair| {
        let file = pair[0].strip_prefix(b"file:")?;
        let end = pair[1].iter().position(|byte| *byte == b'\n');
        let (key, value) = pair[1].split_at(end.unwrap_or(pair[1].len()));
        Some(GitSetting {
            file: work_tree.join(path_from(file)),
            key: String::from_utf8_lossy(key).to_ascii_lowercase(),
            value: value.strip_prefix(b"\n").unwrap_or_default().to_vec(),
        })
    });
    pairs.collect()
}

/// Returns the paths that settings of a repository name, whether they exist or not, and the files of the settings.
pub(super) fn configured_paths(settings: &[GitSetting], work_tree: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for GitSetting { file, key, value } in settings {
        let is_include = key == "include.path"
            || key
                .strip_prefix("includeif.")
                .is_some_and(|rest| rest.rsplit('.').next() == Some("path"));
        let base = match key.as_str() {
            "core.hookspath" | "init.templatedir" => Some(work_tree),
            _ if is_include => file.parent(),
            _ => None,
        };
        if let Some(base) = base.filter(|_| !value.is_empty()) {
            paths.insert(resolve_as_far_as_possible(&base.join(expand_home(value))));
        }
        paths.insert(resolve_as_far_as_possible(file));
    }
    paths
}

/// The folder of hooks that the settings name.
pub(super) fn hooks_path(settings: &[GitSetting], work_tree: &Path) -> Option<PathBuf> {
    let mut named = settings
        .iter()
        .rev()
        .filter(|it| it.key == "core.hookspath");
    let value = &named.next()?.value;
    (!value.is_empty()).then(|| resolve_as_far_as_possible(&work_tree.join(expand_home(value))))
}

fn expand_home(value: &[u8]) -> PathBuf {
    match (value.strip_prefix(b"~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(path_from(rest)),
        _ => path_from(value),
    }
}
