//! A workspace with its shadow directory, which is created and examined without Selvedge's code.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use selvedge_core::model::TreeId;
use selvedge_engine::workspace::{
    ExcludedPaths, ExclusionReason, RestoreOutcome, Snapshot, Workspace,
};
use tempfile::TempDir;

/// The content of a path, as far as a snapshot restores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(PathBuf),
    Folder {
        mode: u32,
    },
    Special,
    /// A repository's `.git`, whose content is not examined.
    Records,
}

pub(super) type TreeListing = BTreeMap<PathBuf, FileState>;

pub(super) struct WorkspaceFixture {
    base: TempDir,
}

impl WorkspaceFixture {
    /// Creates an empty folder without a repository.
    pub(super) fn folder() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("work")).unwrap();
        Self { base }
    }

    /// Creates an empty repository.
    pub(super) fn repository() -> Self {
        let fixture = Self::folder();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.base.path().join("work")
    }

    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir().join(path)
    }

    /// Returns a path next to the workspace.
    pub(super) fn outside(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    pub(super) fn shadow(&self) -> PathBuf {
        self.outside("state/shadow")
    }

    pub(super) fn workspace(&self) -> Workspace {
        Workspace::open(&self.dir(), &self.shadow()).unwrap()
    }

    pub(super) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn make_dir(&self, path: impl AsRef<Path>) {
        fs::create_dir_all(self.path(path)).unwrap();
    }

    pub(super) fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    pub(super) fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(path), Permissions::from_mode(mode)).unwrap();
    }

    pub(super) fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub(super) fn has(&self, path: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    pub(super) fn mode(&self, path: impl AsRef<Path>) -> u32 {
        fs::symlink_metadata(self.path(path)).unwrap().mode() & 0o777
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.workspace().snapshot("test").unwrap()
    }

    pub(super) fn restore(&self, tree: &TreeId) -> RestoreOutcome {
        self.workspace().restore(tree).unwrap()
    }

    /// Runs git in the workspace as the user would.
    pub(super) fn git(&self, args: &[&str]) {
        self.git_in("", args);
    }

    pub(super) fn git_in(&self, folder: &str, args: &[&str]) {
        let output = self.try_git_in(folder, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {stderr}");
    }

    pub(super) fn try_git_in(&self, folder: &str, args: &[&str]) -> Output {
        Command::new("git")
            .args(args)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([
                ("GIT_AUTHOR_NAME", "person"),
                ("GIT_AUTHOR_EMAIL", "person@example.org"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "person"),
                ("GIT_COMMITTER_EMAIL", "person@example.org"),
            ])
            .output()
            .unwrap()
    }

    pub(super) fn commit_all(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "all"]);
    }

    /// Returns everything in the workspace except for its own `.git`.
    pub(super) fn listing(&self) -> TreeListing {
        let mut listing = TreeListing::new();
        collect_listing(&self.dir(), Path::new(""), &mut listing);
        listing.remove(Path::new(".git"));
        listing
    }

    /// Returns everything in the user's git directory.
    pub(super) fn git_dir_listing(&self) -> TreeListing {
        let mut listing = TreeListing::new();
        collect_listing(&self.path(".git"), Path::new(""), &mut listing);
        listing
    }
}

fn collect_listing(root: &Path, below: &Path, listing: &mut TreeListing) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        let metadata = entry.metadata().unwrap();
        let mode = metadata.mode() & 0o777;
        let kind = metadata.file_type();
        let state = if entry.file_name() == ".git" {
            FileState::Records
        } else if kind.is_dir() {
            collect_listing(root, &path, listing);
            FileState::Folder { mode }
        } else if kind.is_symlink() {
            FileState::Link(fs::read_link(entry.path()).unwrap())
        } else if kind.is_fifo() || kind.is_socket() {
            FileState::Special
        } else {
            FileState::File {
                mode,
                bytes: fs::read(entry.path()).unwrap(),
            }
        };
        listing.insert(path, state);
    }
}

/// Creates a named pipe with `mkfifo`.
pub(super) fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Returns the paths in a list with their reasons.
pub(super) fn reasons(excluded: &ExcludedPaths) -> Vec<(&str, ExclusionReason)> {
    excluded
        .listed
        .iter()
        .map(|it| (it.path.to_str().unwrap(), it.reason))
        .collect()
}
