//! Programs in the work tree that git runs because a setting or a hook of the user names them. A session may change
//! them, like all files of the workspace; the changes are reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::configured_paths::{GitSetting, hooks_path};
use super::copy::{path_from, read_names, resolve_as_far_as_possible};
use super::state::read_plain;
use crate::workspace::repository::Repository;

/// Maximum number of files that are watched.
const MAX_FILES: usize = 500;
/// A hook that is longer is not a script.
const MAX_HOOK_LENGTH: usize = 64 * 1024;

/// Hash of a file's content; `None` if it does not exist.
type ContentHash = Option<[u8; 32]>;

/// Files that git runs, with their content before a session.
#[derive(Debug, Default)]
pub(super) struct NamedPrograms {
    /// By paths relative to the workspace.
    files: BTreeMap<PathBuf, ContentHash>,
    /// Folders of which all files are included, relative to the workspace.
    folders: Vec<PathBuf>,
}

impl NamedPrograms {
    /// Adds the files that settings and hooks of a repository name.
    pub(super) fn add(
        &mut self,
        workspace: &Path,
        repository: &Repository,
        settings: &[GitSetting],
    ) {
        let work_tree = repository.root();
        for GitSetting { key, value, .. } in settings {
            if names_a_program(key, value) {
                self.add_words(workspace, work_tree, value, true);
            }
        }
        let hooks = hooks_path(settings, work_tree)
            .unwrap_or_else(|| repository.common_git_dir().join("hooks"));
        for name in read_names(&hooks).unwrap_or_default() {
            let is_sample = Path::new(&name)
                .extension()
                .is_some_and(|end| end == "sample");
            // A hook that is a link is protected itself; its content counts.
            let hook = resolve_as_far_as_possible(&hooks.join(&name));
            let (Some(folder), Some(name)) = (hook.parent(), hook.file_name()) else {
                continue;
            };
            let text = read_plain(folder, Path::new(name)).unwrap_or_default();
            if !is_sample && text.len() <= MAX_HOOK_LENGTH {
                self.add_words(workspace, work_tree, &text, false);
            }
        }
        // The hooks of husky are generated, and run the files next to their folder.
        if hooks.ends_with("_")
            && let Some(folder) = hooks.parent()
            && let Ok(below) = folder.strip_prefix(workspace)
        {
            self.folders.push(below.to_owned());
            for path in files_in(workspace, below) {
                self.add_file(workspace, path);
            }
        }
    }

    /// Adds the words of a command that are paths of the workspace. `may_be_missing` states whether paths that do not
    /// exist yet count.
    fn add_words(
        &mut self,
        workspace: &Path,
        work_tree: &Path,
        command: &[u8],
        may_be_missing: bool,
    ) {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;|&<>()$={}!".contains(byte);
        for word in command.split(is_end).filter(|word| !word.is_empty()) {
            // The path after `$(git rev-parse --show-toplevel)` begins with a slash, too.
            let below: &[u8] = &word[word.iter().take_while(|byte| **byte == b'/').count()..];
            for path in [path_from(word), path_from(below)] {
                if path.as_os_str().is_empty() {
                    continue;
                }
                let path = resolve_as_far_as_possible(&work_tree.join(path));
                let is_wanted = path.is_file()
                    || may_be_missing && word.contains(&b'/') && path.symlink_metadata().is_err();
                if let Ok(below) = path.strip_prefix(workspace)
                    && is_wanted
                    && !below.iter().any(super::super::is_repository_data)
                {
                    self.add_file(workspace, below.to_owned());
                }
            }
        }
    }

    fn add_file(&mut self, workspace: &Path, path: PathBuf) {
        if self.files.len() < MAX_FILES {
            let content = hash(workspace, &path);
            self.files.entry(path).or_insert(content);
        }
    }

    /// Returns the files that differ now.
    pub(super) fn changed(&self, workspace: &Path) -> Vec<PathBuf> {
        let mut now = self.files.clone();
        for folder in &self.folders {
            now.extend(files_in(workspace, folder).map(|path| (path, None)));
        }
        let before = |path: &PathBuf| self.files.get(path).copied().flatten();
        let mut paths: Vec<PathBuf> = now.into_keys().collect();
        paths.retain(|path| hash(workspace, path) != before(path));
        paths
    }
}

fn files_in(workspace: &Path, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = read_names(&workspace.join(folder)).unwrap_or_default();
    let is_file = {
        let workspace = workspace.to_owned();
        move |path: &PathBuf| {
            let found = workspace.join(path).symlink_metadata();
            found.is_ok_and(|it| !it.is_dir())
        }
    };
    let folder = folder.to_owned();
    let paths = names.into_iter().map(move |name| folder.join(name));
    paths.filter(is_file).take(MAX_FILES)
}

/// A link that replaced the file counts as a change.
fn hash(workspace: &Path, path: &Path) -> ContentHash {
    let bytes = match read_plain(workspace, path) {
        Ok(bytes) => bytes,
        Err(_) if workspace.join(path).symlink_metadata().is_err() => return None,
        Err(_) => b"not a plain file".to_vec(),
    };
    Some(Sha256::digest(&bytes).into())
}

/// Whether the value of a setting is a command.
fn names_a_program(key: &str, value: &[u8]) -> bool {
    let first = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    let commands: &[&str] = match first {
        "core" => &[
            "alternaterefscommand",
            "askpass",
            "editor",
            "fsmonitor",
            "gitproxy",
            "pager",
            "sshcommand",
        ],
        "sequence" => &["editor"],
        "filter" => &["clean", "smudge", "process"],
        "diff" => &["command", "textconv", "external"],
        "merge" => &["driver"],
        "gpg" => &["program", "defaultkeycommand"],
        "credential" => &["helper"],
        "difftool" | "mergetool" | "browser" | "man" => &["cmd", "path"],
        "trailer" => &["command", "cmd"],
        "remote" => &["uploadpack", "receivepack"],
        "interactive" => &["difffilter"],
        "uploadpack" => &["packobjectshook"],
        "pager" => return true,
        "alias" | "submodule" => return value.starts_with(b"!"),
        _ => &[],
    };
    commands.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_a_program_are_recognized() {
        for key in [
            "core.fsmonitor",
            "filter.a.b.clean",
            "diff.x.textconv",
            "gpg.ssh.program",
        ] {
            assert!(names_a_program(key, b"x"), "{key}");
        }
        assert!(names_a_program("alias.x", b"!tools/x"));
        for key in [
            "alias.x",
            "core.excludesfile",
            "branch.docs.remote",
            "filter.x.required",
        ] {
            assert!(!names_a_program(key, b"docs"), "{key}");
        }
    }
}
