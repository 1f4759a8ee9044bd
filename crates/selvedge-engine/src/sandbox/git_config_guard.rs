//! Guards the parts of a repository's own folder that make git run programs: hooks, most keys of its configuration,
//! and the paths where git searches these. No snapshot contains them, sessions may write there, and the user's next
//! `git status` would run what they left, outside of any sandbox. So they are captured before a session and restored
//! after it, when its process tree has ended; with every backend, and without one.

mod config;
mod entry;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::entry::{ContentPolicy, SavedEntry};
use self::repository::GuardedRepository;
use super::{canonical, main_repository};

/// Maximum depth of submodules' folders: their names may contain slashes.
const MAX_SUBMODULE_DEPTH: usize = 4;

/// The state before a session.
#[derive(Debug)]
pub(crate) struct GitConfigSnapshot {
    workspace: PathBuf,
    /// The workspace's `.git`, which may lead to a folder elsewhere.
    dot_git: SavedEntry,
    /// Folders in which restoring is allowed: links that lead out of them are not written through.
    roots: Vec<PathBuf>,
    repositories: BTreeMap<PathBuf, GuardedRepository>,
}

impl GitConfigSnapshot {
    /// Captures the state.
    pub(crate) fn capture(workspace: &Path) -> Self {
        let workspace = canonical(workspace.to_owned()).unwrap_or_else(|| workspace.to_owned());
        let roots: Vec<PathBuf> = [workspace.clone()]
            .into_iter()
            .chain(main_repository(&workspace))
            .collect();
        let all = repository_folders(&workspace);
        let worktrees: Vec<PathBuf> = all
            .iter()
            .flat_map(|folder| worktree_folders(folder))
            .collect();
        let noted = all.into_iter().chain(worktrees).map(|folder| {
            let noted = GuardedRepository::capture(&folder, &roots);
            (folder, noted)
        });
        Self {
            dot_git: SavedEntry::capture(&workspace.join(".git"), ContentPolicy::Saved),
            repositories: noted.collect(),
            roots,
            workspace,
        }
    }

    /// Restores the state, and returns descriptions of the changes. No process of the session may be running.
    pub(crate) fn restore(&self) -> Vec<String> {
        let mut changed = Vec::new();
        let own = self.workspace.join(".git");
        let now = SavedEntry::capture(&own, ContentPolicy::Saved);
        // A folder that was moved away cannot be identified; the pointer to it is removed.
        let is_gone = matches!(
            (&self.dot_git, &now),
            (SavedEntry::Folder(_), SavedEntry::Absent)
        );
        if !self.dot_git.is_equivalent(&now) && !is_gone && !is_folder(&own) {
            let done = match &self.dot_git {
                SavedEntry::Folder(_) => entry::remove(&own),
                other => other.restore(&own),
            };
            changed.push(describe_restore(".git", done));
        }
        let root = main_repository_folder(&self.workspace).unwrap_or(own);
        let name = |folder: &Path| {
            let below = folder.strip_prefix(&root).unwrap_or(folder);
            Path::new(".git").join(below)
        };
        // A repository that was moved away is no longer obeyed, but a link in its place is.
        for folder in self.repositories.keys().filter(|it| it.is_symlink()) {
            let done = entry::remove(folder);
            changed.push(describe_restore(&name(folder).display().to_string(), done));
        }
        let mut all = repository_folders(&self.workspace);
        let noted = self.repositories.keys().filter(|folder| is_folder(folder));
        all.extend(noted.cloned());
        all.sort();
        all.dedup();
        for folder in all {
            let new;
            let before = if let Some(noted) = self.repositories.get(&folder) {
                noted
            } else {
                new = GuardedRepository::missing(&folder);
                &new
            };
            let name = name(&folder);
            let put_back = before.restore(&folder, &self.roots);
            changed.extend(
                put_back
                    .iter()
                    .map(|it| name.join(it).display().to_string()),
            );
        }
        changed
    }
}

/// The folder of the repository itself, to which the workspace's `.git` leads.
fn main_repository_folder(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    main_repository(workspace)
        .or_else(|| own.is_symlink().then(|| canonical(own.clone())).flatten())
        .or(Some(own))
        .filter(|folder| is_folder(folder))
}

/// The folders of the repository itself, of the worktree if it is one, and of submodules.
fn repository_folders(workspace: &Path) -> Vec<PathBuf> {
    let Some(root) = main_repository_folder(workspace) else {
        return Vec::new();
    };
    let of_worktree = main_repository(workspace).and_then(|_| {
        let pointer = fs::read_to_string(workspace.join(".git")).ok()?;
        canonical(workspace.join(pointer.strip_prefix("gitdir:")?.trim()))
    });
    let mut found = vec![root.clone()];
    found.extend(of_worktree);
    collect_submodules(&root.join("modules"), MAX_SUBMODULE_DEPTH, &mut found);
    found
}

/// The repository's folders for its worktrees. New ones are created as git creates them.
fn worktree_folders(repository: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(repository.join("worktrees"));
    let paths = listed
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    paths.filter(|path| is_folder(path)).collect()
}

fn collect_submodules(folder: &Path, deepest: usize, found: &mut Vec<PathBuf>) {
    if deepest == 0 || !is_folder(folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").symlink_metadata().is_ok() && is_folder(&path) {
            collect_submodules(&path.join("modules"), deepest - 1, found);
            found.push(path);
        } else {
            collect_submodules(&path, deepest - 1, found);
        }
    }
}

/// A restored path for the report, with the error if it could not be restored.
fn describe_restore(name: &str, done: io::Result<()>) -> String {
    match done {
        Ok(()) => name.to_owned(),
        Err(error) => format!("{name} (not restored: {error})"),
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests;
