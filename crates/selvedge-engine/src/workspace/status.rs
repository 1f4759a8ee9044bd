//! Reports the uncommitted changes of the *user's* repository, for the `git_clean` check. Its settings may name
//! programs to run (a file-system monitor, filters, hooks), so git does not use them: it works in a scratch git
//! directory with the user's index, objects and head, and only a few listed settings are copied. A file that a filter
//! would convert to the committed content (Git LFS) counts as changed if its times no longer match the index.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::repository::{Repository, plain_file};
use super::shadow;
use crate::parallel;

const DOING: &str = "see what changed";

/// Settings for the comparison of the work tree with the index. None of them can run a program.
const COPIED_SETTINGS: &[&str] = &[
    "core.autocrlf",
    "core.checkstat",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "index.sparse",
];

/// Files of a git directory that contain rules but no commands.
const SHARED_RULE_FILES: &[&str] = &["info/exclude", "info/attributes"];

/// How a file of the work tree differs from the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UncommittedChange {
    /// Changed in the index, the work tree, or both.
    Changed,
    /// Left in conflict by a merge.
    Conflicted,
    /// Neither tracked nor ignored. A folder that contains only such files is one entry.
    Untracked,
}

/// A file with an uncommitted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirtyFile {
    /// Relative to the requested folder.
    pub path: PathBuf,
    pub change: UncommittedChange,
}

/// Uncommitted changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirtyFiles {
    /// Empty if everything is committed.
    pub files: Vec<DirtyFile>,
}

impl DirtyFiles {
    /// Returns whether everything is committed.
    pub fn is_clean(&self) -> bool {
        self.files.is_empty()
    }
}

/// Returns whether everything in `dir` is committed.
///
/// # Errors
/// Those of [`status`].
pub fn is_clean(dir: &Path) -> Result<bool, WorkspaceError> {
    Ok(status(dir)?.is_clean())
}

/// Returns the uncommitted changes in and below `dir`, including submodules, but not those elsewhere in its repository.
///
/// # Errors
/// `dir` is not in a repository, or git cannot read it.
pub fn status(dir: &Path) -> Result<DirtyFiles, WorkspaceError> {
    let dir = super::canonical_dir(dir)?;
    status_with(&GitProgram::find(&dir)?, &dir, None)
}

pub(super) fn status_with(
    git: &GitProgram,
    dir: &Path,
    excludes: Option<&Path>,
) -> Result<DirtyFiles, WorkspaceError> {
    let repository = Repository::containing(dir).ok_or_else(|| WorkspaceError::NotARepository {
        dir: dir.to_owned(),
    })?;
    let mut dirty = DirtyFiles::default();
    let mut pending = vec![(dir.to_owned(), repository)];
    while let Some((at, repository)) = pending.pop() {
        let prefix = at.strip_prefix(dir).unwrap_or(Path::new(""));
        let scratch = ScratchGitDir::create(git, &repository)?;
        let (submodules, changes) =
            parallel::join(|| scratch.submodules(&at), || scratch.status(&at, excludes));
        let changes = changes?.into_iter();
        dirty.files.extend(changes.map(|(path, change)| DirtyFile {
            path: prefix.join(path),
            change,
        }));
        for path in submodules? {
            // Invariant: a submodule is deeper than the repository that contains it, so the walk ends.
            let submodule = fs::canonicalize(at.join(path)).ok();
            let submodule =
                submodule.filter(|submodule| *submodule != at && submodule.starts_with(&at));
            if let Some((submodule, nested)) =
                submodule.and_then(|at| Some((at.clone(), Repository::at(&at)?)))
            {
                pending.push((submodule, nested));
            }
        }
    }
    Ok(dirty)
}

/// A temporary git directory in place of the user's.
struct ScratchGitDir<'a> {
    git: &'a GitProgram,
    repository: &'a Repository,
    dir: TempDir,
}

impl<'a> ScratchGitDir<'a> {
    fn create(git: &'a GitProgram, repository: &'a Repository) -> Result<Self, WorkspaceError> {
        let dir = tempfile::Builder::new()
            .prefix("selvedge-status-")
            .tempdir();
        let dir =
            dir.map_err(|e| WorkspaceError::io("create a folder in", &std::env::temp_dir(), e))?;
        let scratch = Self {
            git,
            repository,
            dir,
        };
        let (head, settings) = parallel::join(|| scratch.find_head(), || scratch.settings());
        let settings = settings?;
        shadow::init_git_dir(scratch.dir.path(), repository.object_format())?;
        scratch.write_settings(&settings)?;
        scratch.link_rules()?;
        if let Some(head) = head? {
            let path = scratch.dir.path().join("HEAD");
            fs::write(&path, head).map_err(|e| WorkspaceError::io("write", &path, e))?;
        }
        Ok(scratch)
    }

    /// Reads the settings in the repository's own files as data, without included files.
    fn settings(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        let files = [
            self.repository.common_git_dir().join("config"),
            self.repository.git_dir().join("config.worktree"),
        ];
        let mut settings = Vec::new();
        for file in files.into_iter().filter_map(plain_file) {
            let mut command = self.git.command(self.dir.path(), self.dir.path());
            command
                .args(["config", "--no-includes", "--null", "--list", "--file"])
                .arg(file);
            let listing = git::output_of(command, "read the settings", self.repository.root())?;
            let listing = String::from_utf8_lossy(&listing);
            let pairs = listing.split('\0').filter_map(|pair| pair.split_once('\n'));
            settings.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
        Ok(settings)
    }

    fn write_settings(&self, settings: &[(String, String)]) -> Result<(), WorkspaceError> {
        let path = self.dir.path().join("config");
        let mut config = fs::read(&path).map_err(|e| WorkspaceError::io("read", &path, e))?;
        for (key, value) in settings {
            let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric());
            if let Some((section, name)) = key.split_once('.')
                && is_plain
                && COPIED_SETTINGS.contains(&key.as_str())
            {
                config.extend_from_slice(format!("[{section}]\n\t{name} = {value}\n").as_bytes());
            }
        }
        fs::write(&path, config).map_err(|e| WorkspaceError::io("write", &path, e))
    }

    fn link_rules(&self) -> Result<(), WorkspaceError> {
        let scratch_dir = self.dir.path();
        let git_dir = self.repository.git_dir();
        let common_dir = self.repository.common_git_dir();
        let mut links: Vec<(PathBuf, PathBuf)> = SHARED_RULE_FILES
            .iter()
            .map(|name| (common_dir.join(name), scratch_dir.join(name)))
            .collect();
        links.push((
            git_dir.join("info/sparse-checkout"),
            scratch_dir.join("info/sparse-checkout"),
        ));
        // A split index refers to a second file, which git expects in its git directory.
        for entry in fs::read_dir(git_dir).into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                links.push((entry.path(), scratch_dir.join(entry.file_name())));
            }
        }
        let info = scratch_dir.join("info");
        fs::create_dir(&info).map_err(|e| WorkspaceError::io("create the folder", &info, e))?;
        for (from, to) in links {
            if let Some(from) = plain_file(from) {
                symlink(&from, &to).map_err(|e| WorkspaceError::io("link", &to, e))?;
            }
        }
        Ok(())
    }

    /// Returns the id of the current commit, if there is one. This is the only call in the user's git directory: it looks
    /// up a name, which runs nothing.
    fn find_head(&self) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let root = self.repository.root();
        let mut command = self.git.command(self.repository.git_dir(), root);
        command.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
        let output = git::run(command, "look up HEAD", root)?;
        Ok(output.status.success().then_some(output.stdout))
    }

    fn command(&self, from: &Path) -> Command {
        let mut command = self.git.command(self.dir.path(), from);
        command.env("GIT_WORK_TREE", self.repository.root());
        command.env("GIT_OBJECT_DIRECTORY", self.repository.objects());
        command.env("GIT_INDEX_FILE", self.repository.git_dir().join("index"));
        command
    }

    /// Returns the changes in and below `folder`, relative to it.
    fn status(
        &self,
        folder: &Path,
        excludes: Option<&Path>,
    ) -> Result<Vec<(PathBuf, UncommittedChange)>, WorkspaceError> {
        let mut command = self.command(folder);
        if let Some(excludes) = excludes {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(excludes);
            command.arg("-c").arg(setting);
        }
        command.args(["status", "--porcelain=v2", "-z", "--no-renames"]);
        command.args([
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--",
            ".",
        ]);
        let answer = git::output_of(command, DOING, folder)?;
        // In this format, paths are relative to the root of the work tree.
        let below = folder
            .strip_prefix(self.repository.root())
            .unwrap_or(Path::new(""));
        let records = answer
            .split(|byte| *byte == 0)
            .filter_map(parse_status_record);
        Ok(records
            .map(|(path, dirt)| (relative(path, below), dirt))
            .collect())
    }

    fn submodules(&self, folder: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut command = self.command(folder);
        command.args(["ls-files", "--stage", "-z"]);
        let answer = git::output_of(command, DOING, folder)?;
        let records = answer
            .split(|byte| *byte == 0)
            .filter(|record| record.starts_with(b"160000 "));
        let paths = records.filter_map(|record| record.splitn(2, |byte| *byte == b'\t').nth(1));
        Ok(paths
            .map(|path| OsString::from_vec(path.to_vec()).into())
            .collect())
    }
}

/// Parses one record of `git status --porcelain=v2 -z`.
fn parse_status_record(record: &[u8]) -> Option<(PathBuf, UncommittedChange)> {
    let (fields_before_path, change) = match record.first()? {
        b'1' => (8, UncommittedChange::Changed),
        b'u' => (10, UncommittedChange::Conflicted),
        b'?' => (1, UncommittedChange::Untracked),
        _ => return None,
    };
    let path = record
        .splitn(fields_before_path + 1, |byte| *byte == b' ')
        .last()?;
    Some((OsString::from_vec(path.to_vec()).into(), change))
}

fn relative(path: PathBuf, base: &Path) -> PathBuf {
    path.strip_prefix(base).map(Path::to_owned).unwrap_or(path)
}
