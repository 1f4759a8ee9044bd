//! What in a repository's own folder makes git run programs: hooks, most keys of its configuration, and
//! where it is looked for. No snapshot holds them, sessions may write there, and a person's next
//! `git status` would carry out what they left, outside of all walls. So they are noted before a session
//! and put back after it, when its tree is gone; with any backend, and with none.

mod config;
mod entry;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::entry::{Content, Entry};
use self::repository::Repository;
use super::{git_folder, real};

/// How deep submodules' folders lie at most: their names may have slashes in them.
const DEEPEST: usize = 4;

/// The state before a session.
#[derive(Debug)]
pub(crate) struct Steering {
    workspace: PathBuf,
    /// The workspace's `.git`, which may lead to a folder elsewhere.
    own: Entry,
    /// Where something may be restored: nothing is written through links that lead out of it.
    roots: Vec<PathBuf>,
    repositories: BTreeMap<PathBuf, Repository>,
}

impl Steering {
    /// Notes it.
    pub(crate) fn note(workspace: &Path) -> Self {
        let workspace = real(workspace.to_owned()).unwrap_or_else(|| workspace.to_owned());
        let roots: Vec<PathBuf> = [workspace.clone()]
            .into_iter()
            .chain(git_folder(&workspace))
            .collect();
        let all = repositories(&workspace);
        let worktrees: Vec<PathBuf> = all.iter().flat_map(|folder| worktrees(folder)).collect();
        let noted = all.into_iter().chain(worktrees).map(|folder| {
            let noted = Repository::note(&folder, &roots);
            (folder, noted)
        });
        Self {
            own: Entry::capture(&workspace.join(".git"), Content::Kept),
            repositories: noted.collect(),
            roots,
            workspace,
        }
    }

    /// Puts it back, and says what was changed. Nothing of the session may run any more.
    pub(crate) fn put_back(&self) -> Vec<String> {
        let mut changed = Vec::new();
        let own = self.workspace.join(".git");
        let now = Entry::capture(&own, Content::Kept);
        // A folder that was moved away cannot be told from any other; what leads to it goes.
        let is_gone = matches!((&self.own, &now), (Entry::Folder(_), Entry::Absent));
        if !self.own.is_like(&now) && !is_gone && !is_folder(&own) {
            let done = match &self.own {
                Entry::Folder(_) => entry::remove(&own),
                other => other.restore(&own),
            };
            changed.push(describe_restore(".git", done));
        }
        let root = repository(&self.workspace).unwrap_or(own);
        let name = |folder: &Path| {
            let below = folder.strip_prefix(&root).unwrap_or(folder);
            Path::new(".git").join(below)
        };
        // One that was moved away leaves nothing to obey, but what leads to another in its place does.
        for folder in self.repositories.keys().filter(|it| it.is_symlink()) {
            let done = entry::remove(folder);
            changed.push(describe_restore(&name(folder).display().to_string(), done));
        }
        let mut all = repositories(&self.workspace);
        let noted = self.repositories.keys().filter(|folder| is_folder(folder));
        all.extend(noted.cloned());
        all.sort();
        all.dedup();
        for folder in all {
            let new;
            let before = if let Some(noted) = self.repositories.get(&folder) {
                noted
            } else {
                new = Repository::missing(&folder);
                &new
            };
            let name = name(&folder);
            let put_back = before.put_back(&folder, &self.roots);
            changed.extend(
                put_back
                    .iter()
                    .map(|it| name.join(it).display().to_string()),
            );
        }
        changed
    }
}

/// The folder of the repository itself, wherever the workspace's `.git` leads.
fn repository(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    git_folder(workspace)
        .or_else(|| own.is_symlink().then(|| real(own.clone())).flatten())
        .or(Some(own))
        .filter(|folder| is_folder(folder))
}

/// The folders of the repository itself, of the worktree where it is one, and of submodules.
fn repositories(workspace: &Path) -> Vec<PathBuf> {
    let Some(root) = repository(workspace) else {
        return Vec::new();
    };
    let of_worktree = git_folder(workspace).and_then(|_| {
        let said = fs::read_to_string(workspace.join(".git")).ok()?;
        real(workspace.join(said.strip_prefix("gitdir:")?.trim()))
    });
    let mut found = vec![root.clone()];
    found.extend(of_worktree);
    submodules(&root.join("modules"), DEEPEST, &mut found);
    found
}

/// What a repository keeps of its worktrees. New ones are made as git makes them.
fn worktrees(repository: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(repository.join("worktrees"));
    let paths = listed
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    paths.filter(|path| is_folder(path)).collect()
}

fn submodules(folder: &Path, deepest: usize, found: &mut Vec<PathBuf>) {
    if deepest == 0 || !is_folder(folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").symlink_metadata().is_ok() && is_folder(&path) {
            submodules(&path.join("modules"), deepest - 1, found);
            found.push(path);
        } else {
            submodules(&path, deepest - 1, found);
        }
    }
}

/// A restored place for the report, with the reason where it could not be restored.
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
