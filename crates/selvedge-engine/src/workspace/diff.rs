//! Compares two snapshots: as a list of files, and as a unified diff of limited size.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use selvedge_core::model::TreeId;

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::ids::BlobId;
use super::import::{FILES_FOLDER, FileKind};
use super::relative::RelativePath;
use super::target::RestoreTarget;
use crate::process::spawn_with_blocked_signals;

const DOING: &str = "compare two snapshots";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffOptions {
    /// Unchanged lines around each change.
    pub context: u32,
    /// Maximum size in bytes; the diff ends with a complete line.
    pub max_bytes: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            context: 3,
            max_bytes: 1024 * 1024,
        }
    }
}

/// A unified diff. File names and lines are bytes in any encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// At most [`DiffOptions::max_bytes`] bytes.
    pub bytes: Vec<u8>,
    /// Whether the diff is longer.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileChangeKind {
    /// Only the second snapshot has the file.
    Added,
    /// Both have the file, with different bytes or executable bits.
    Modified,
    /// Only the first snapshot has the file.
    Removed,
    /// A file in one snapshot and a link in the other.
    Retyped,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    pub change: FileChangeKind,
}

/// A file that differs, with its version in both snapshots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BlobDifference {
    pub(super) path: PathBuf,
    pub(super) before: Option<(FileKind, BlobId)>,
    pub(super) after: Option<(FileKind, BlobId)>,
}

impl BlobDifference {
    /// Parses `:MODE MODE ID ID STATUS` and the path that follows it.
    fn parse(head: &[u8], path: &[u8]) -> Option<Self> {
        let mut fields = head.strip_prefix(b":")?.split(|byte| *byte == b' ');
        let modes = [fields.next()?, fields.next()?];
        let ids = [fields.next()?, fields.next()?];
        let side = |mode: &[u8], id| match mode {
            b"000000" => Some(None),
            _ => Some(Some((
                FileKind::from_git_mode(mode)?,
                BlobId::from_hex(id)?,
            ))),
        };
        Some(Self {
            path: OsString::from_vec(path.to_vec()).into(),
            before: side(modes[0], ids[0])?,
            after: side(modes[1], ids[1])?,
        })
    }

    fn change(&self) -> FileChangeKind {
        let is_link = |side: (FileKind, BlobId)| side.0 == FileKind::Link;
        match (self.before, self.after) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Removed,
            (Some(before), Some(after)) if is_link(before) != is_link(after) => {
                FileChangeKind::Retyped
            }
            _ => FileChangeKind::Modified,
        }
    }
}

/// Compares two trees of known content, as git does.
fn differences_of(before: &RestoreTarget, after: &RestoreTarget) -> Vec<BlobDifference> {
    let side = |target: &RestoreTarget, path: &RelativePath| {
        let file = target.files.get(path);
        file.map(|file| (file.kind, file.blob))
    };
    let paths: BTreeSet<&RelativePath> = before.files.keys().chain(after.files.keys()).collect();
    let compared = paths.into_iter().map(|path| BlobDifference {
        before: side(before, path),
        after: side(after, path),
        path: path.to_path_buf(),
    });
    compared.filter(|file| file.before != file.after).collect()
}

impl Workspace {
    /// Returns the files that differ, sorted by path. Empty folders and permission bits other than the executable one
    /// are not listed, although they make snapshots unequal.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn changed_files(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<SnapshotChange>, WorkspaceError> {
        let differences = self.differences(from, to)?.into_iter();
        let changed = differences.map(|file| SnapshotChange {
            change: file.change(),
            path: file.path,
        });
        Ok(changed.collect())
    }

    pub(super) fn differences(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<BlobDifference>, WorkspaceError> {
        if let (Some(before), Some(after)) = (self.trees.get(from), self.trees.get(to)) {
            return Ok(differences_of(&before, &after));
        }
        let place = self.shadow.dir();
        let mut command = self.diff_command();
        command.args(["--raw", "--no-abbrev", "-z", from.as_str(), to.as_str()]);
        command.args(["--", FILES_FOLDER]);
        let answer = git::output_of(command, DOING, place);
        let answer = self.explain_unknown_snapshot(answer, from, to)?;
        let mut fields = answer.split(|byte| *byte == 0);
        let mut differences = Vec::new();
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            let read = BlobDifference::parse(head, path);
            differences.push(read.ok_or_else(|| WorkspaceError::UnexpectedAnswer {
                doing: DOING,
                place: place.to_owned(),
                detail: String::from_utf8_lossy(head).into_owned(),
            })?);
        }
        Ok(differences)
    }

    /// Returns the unified diff from one snapshot to another.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn diff(
        &self,
        from: &TreeId,
        to: &TreeId,
        options: DiffOptions,
    ) -> Result<UnifiedDiff, WorkspaceError> {
        let mut command = self.diff_command();
        command.args(["-p", "--no-color", "--no-ext-diff", "--no-textconv"]);
        command.arg(format!("--unified={}", options.context));
        command.args([from.as_str(), to.as_str(), "--", FILES_FOLDER]);
        let diff = self.read_at_most(command, options.max_bytes);
        self.explain_unknown_snapshot(diff, from, to)
    }

    fn diff_command(&self) -> Command {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command
            .args(["diff-tree", "-r", "--no-renames"])
            .arg(format!("--relative={FILES_FOLDER}/"));
        command
    }

    fn read_at_most(
        &self,
        mut command: Command,
        limit: usize,
    ) -> Result<UnifiedDiff, WorkspaceError> {
        let place = self.shadow.dir();
        let to_error = |e: io::Error| WorkspaceError::io(DOING, place, e);
        let mut child = spawn_with_blocked_signals(|| command.spawn()).map_err(to_error)?;
        let Some(stdout) = child.stdout.take() else {
            return Err(to_error(io::ErrorKind::BrokenPipe.into()));
        };
        let mut bytes = Vec::new();
        let max_read = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = stdout.take(max_read).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() > limit {
            git::kill_child(&mut child);
            read.map_err(to_error)?;
            let last_newline = bytes[..limit].iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(last_newline.map_or(0, |end| end + 1));
            return Ok(UnifiedDiff {
                bytes,
                truncated: true,
            });
        }
        let output = child.wait_with_output().map_err(to_error)?;
        if output.status.success() {
            Ok(UnifiedDiff {
                bytes,
                truncated: false,
            })
        } else {
            Err(WorkspaceError::git(
                DOING,
                place,
                output.status.to_string(),
                &output.stderr,
            ))
        }
    }

    /// Replaces a failure of git that an unknown snapshot caused.
    fn explain_unknown_snapshot<T>(
        &self,
        result: Result<T, WorkspaceError>,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<T, WorkspaceError> {
        if let Err(WorkspaceError::Git { .. }) = &result {
            for tree in [from, to] {
                if !self.contains(tree)? {
                    return Err(self.unknown_snapshot(tree));
                }
            }
        }
        result
    }
}
