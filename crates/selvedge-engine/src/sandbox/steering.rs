//! What in a repository's own folder makes git run programs: hooks, most keys of its configuration, and
//! where it is looked for. No snapshot holds them, sessions may write there, and a person's next
//! `git status` would carry out what they left, outside of all walls. So they are noted before a session
//! and put back after it, when its tree is gone; with any backend, and with none.

mod config;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use self::repository::{Repository, read, replace};
use super::{git_folder, real};

/// How deep submodules' folders lie at most: their names may have slashes in them.
const DEEPEST: usize = 4;

/// A `.git` that leads to a folder elsewhere.
#[derive(Debug, PartialEq, Eq)]
enum Pointer {
    /// A file, and what it says.
    File(Vec<u8>),
    /// A link, and where it leads.
    Link(PathBuf),
}

/// The state before a session.
#[derive(Debug)]
pub(crate) struct Steering {
    workspace: PathBuf,
    pointer: Option<Pointer>,
    repositories: BTreeMap<PathBuf, Repository>,
}

impl Steering {
    /// Notes it.
    pub(crate) fn note(workspace: &Path) -> Self {
        let noted = repositories(workspace)
            .into_iter()
            .map(|folder| (folder.clone(), Repository::note(&folder)));
        Self {
            workspace: workspace.to_owned(),
            pointer: pointer(workspace),
            repositories: noted.collect(),
        }
    }

    /// Puts it back, and says what was changed. Nothing of the session may run any more.
    pub(crate) fn put_back(&self) -> Vec<String> {
        let mut changed = Vec::new();
        let own = self.workspace.join(".git");
        let now = pointer(&self.workspace);
        // A folder that was moved away cannot be told from any other; what leads to it goes.
        if now != self.pointer && !is_folder(&own) {
            changed.push(".git".to_owned());
            match &self.pointer {
                Some(Pointer::Link(target)) => {
                    replace(&own, None);
                    let _ = symlink(target, &own);
                }
                Some(Pointer::File(bytes)) => replace(&own, Some(bytes)),
                None => replace(&own, None),
            }
        }
        let root = git_folder(&self.workspace).unwrap_or(own);
        for folder in repositories(&self.workspace) {
            let new = Repository::default();
            let before = self.repositories.get(&folder).unwrap_or(&new);
            let below = folder.strip_prefix(&root).unwrap_or(&folder);
            let name = Path::new(".git").join(below);
            let put_back = before.put_back(&folder);
            changed.extend(
                put_back
                    .iter()
                    .map(|it| name.join(it).display().to_string()),
            );
        }
        changed
    }
}

/// The folders of the repository itself, of the worktree where it is one, and of submodules.
fn repositories(workspace: &Path) -> Vec<PathBuf> {
    let own = workspace.join(".git");
    let elsewhere = git_folder(workspace);
    let of_worktree = elsewhere.as_ref().and_then(|_| {
        let said = fs::read_to_string(&own).ok()?;
        real(workspace.join(said.strip_prefix("gitdir:")?.trim()))
    });
    let root = elsewhere.unwrap_or(own);
    if !is_folder(&root) {
        return Vec::new();
    }
    let mut found = vec![root.clone()];
    found.extend(of_worktree);
    submodules(&root.join("modules"), DEEPEST, &mut found);
    found
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

fn pointer(workspace: &Path) -> Option<Pointer> {
    let own = workspace.join(".git");
    let found = own.symlink_metadata().ok()?;
    if found.is_symlink() {
        return fs::read_link(&own).ok().map(Pointer::Link);
    }
    found.is_file().then(|| read(&own).map(Pointer::File))?
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_git_run_something_is_put_back_and_nothing_else() {
        let workspace = tempfile::tempdir().unwrap();
        let git = workspace.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nmake lint\n").unwrap();
        let before = Steering::note(workspace.path());
        assert_eq!(before.put_back(), [] as [String; 0]);

        // A branch that is followed is no offence.
        let followed = "[core]\n\tbare = false\n[branch \"x\"]\n\tremote = origin\n";
        fs::write(git.join("config"), followed).unwrap();
        assert_eq!(before.put_back(), [] as [String; 0]);
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), followed);

        fs::write(git.join("config"), "[core] fsmonitor = ./evil\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nevil\n").unwrap();
        fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\nevil\n").unwrap();
        let said = before.put_back();
        assert_eq!(
            said,
            [
                ".git/hooks/post-checkout",
                ".git/hooks/pre-commit",
                ".git/config"
            ]
        );
        assert!(!git.join("hooks/post-checkout").exists());
        assert!(
            fs::read_to_string(git.join("hooks/pre-commit"))
                .unwrap()
                .contains("make lint")
        );
        assert!(
            fs::read_to_string(git.join("config"))
                .unwrap()
                .contains("bare")
        );
    }

    #[test]
    fn a_link_in_its_place_is_not_written_through() {
        let workspace = tempfile::tempdir().unwrap();
        let (git, other) = (
            workspace.path().join(".git"),
            workspace.path().join("other"),
        );
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(&other, "[alias]\n\tx = !evil\n").unwrap();
        let before = Steering::note(workspace.path());
        fs::remove_file(git.join("config")).unwrap();
        symlink(&other, git.join("config")).unwrap();
        assert_eq!(before.put_back(), [".git/config"]);
        assert!(fs::read_to_string(&other).unwrap().contains("evil"));
        assert!(git.join("config").symlink_metadata().unwrap().is_file());
    }
    /// Ways to have git read another configuration than the one that is looked at, or to read it otherwise.
    #[test]
    fn nothing_leads_to_another_configuration() {
        type Way = fn(&Path);
        let ways: [(&str, Way); 7] = [
            (".git/commondir", |git| {
                fs::write(git.join("commondir"), "../fake\n").unwrap();
            }),
            (".git/config.worktree", |git| {
                fs::write(git.join("config.worktree"), "[core]\nfsmonitor = ./evil\n").unwrap();
            }),
            (".git/config", |git| {
                fs::write(git.join("config"), "[a] [core] fsmonitor = ./evil\n").unwrap();
            }),
            (".git/config", |git| {
                fs::write(git.join("config"), "[a \"]\"] [core] fsmonitor = ./evil\n").unwrap();
            }),
            (".git/config", |git| {
                fs::write(git.join("config"), "[submodule \"x\"]\nupdate = !evil\n").unwrap();
            }),
            (".git/modules/a/b/config", |git| {
                let folder = git.join("modules/a/b");
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
                fs::write(folder.join("config"), "[core]\nfsmonitor = ./evil\n").unwrap();
            }),
            (".git", |git| {
                fs::rename(git, git.with_file_name("was")).unwrap();
                fs::write(git, "gitdir: was\n").unwrap();
            }),
        ];
        for (named, way) in ways {
            let workspace = tempfile::tempdir().unwrap();
            let git = workspace.path().join(".git");
            fs::create_dir_all(&git).unwrap();
            fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
            let before = Steering::note(workspace.path());
            way(&git);
            assert_eq!(before.put_back(), [named]);
            assert_eq!(before.put_back(), [] as [String; 0], "{named}");
            let left = fs::read_to_string(git.join(named.trim_start_matches(".git/")));
            assert!(!left.unwrap_or_default().contains("evil"), "{named}");
        }
    }

    #[test]
    fn a_link_that_was_there_stays() {
        let workspace = tempfile::tempdir().unwrap();
        let (git, real) = (workspace.path().join(".git"), workspace.path().join("real"));
        fs::create_dir(&real).unwrap();
        symlink("real", &git).unwrap();
        let before = Steering::note(workspace.path());
        assert_eq!(before.put_back(), [] as [String; 0]);
        fs::remove_file(&git).unwrap();
        symlink("other", &git).unwrap();
        assert_eq!(before.put_back(), [".git"]);
        assert_eq!(fs::read_link(&git).unwrap(), Path::new("real"));
    }
}
