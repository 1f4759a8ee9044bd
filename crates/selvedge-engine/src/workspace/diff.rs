//! What differs between two snapshots: as a list, and as a unified diff that stops at a size.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::ids::{BlobId, TreeId};
use super::import::{FILES, Kind};
use crate::process::spawn_shielded;

const DOING: &str = "compare two snapshots";

/// How to show a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffOptions {
    /// Unchanged lines around each change.
    pub context: u32,
    /// Where to stop, in bytes; the diff ends with a whole line.
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

/// A unified diff. File names and lines are the bytes they are, in whatever encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// What fitted.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Only the second snapshot has it.
    Added,
    /// Both have it, with other bytes or another executable bit.
    Modified,
    /// Only the first has it.
    Removed,
    /// A file in one and a link in the other.
    Retyped,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// How.
    pub change: Change,
}

/// A file that differs, and what each of the snapshots has in its place.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) before: Option<(Kind, BlobId)>,
    pub(super) after: Option<(Kind, BlobId)>,
}

impl Difference {
    /// Reads `:MODE MODE ID ID STATUS` and the path that follows it.
    fn read(head: &[u8], path: &[u8]) -> Option<Self> {
        let mut fields = head.strip_prefix(b":")?.split(|byte| *byte == b' ');
        let modes = [fields.next()?, fields.next()?];
        let ids = [fields.next()?, fields.next()?];
        let side = |mode: &[u8], id| match mode {
            b"000000" => Some(None),
            _ => Some(Some((Kind::from_git_mode(mode)?, BlobId::from_hex(id)?))),
        };
        Some(Self {
            path: OsString::from_vec(path.to_vec()).into(),
            before: side(modes[0], ids[0])?,
            after: side(modes[1], ids[1])?,
        })
    }

    fn change(&self) -> Change {
        let is_link = |side: (Kind, BlobId)| side.0 == Kind::Link;
        match (self.before, self.after) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (Some(before), Some(after)) if is_link(before) != is_link(after) => Change::Retyped,
            _ => Change::Modified,
        }
    }
}

impl Workspace {
    /// The files that differ, in the order of their paths. Empty folders and permission bits other
    /// than the executable one are not files and not listed, though they make snapshots unequal.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn changed_files(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<ChangedFile>, WorkspaceError> {
        let differences = self.differences(from, to)?.into_iter();
        let changed = differences.map(|file| ChangedFile {
            change: file.change(),
            path: file.path,
        });
        Ok(changed.collect())
    }

    pub(super) fn differences(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<Difference>, WorkspaceError> {
        let place = self.shadow.dir();
        let mut command = self.compare();
        command.args(["--raw", "--no-abbrev", "-z", from.as_str(), to.as_str()]);
        command.args(["--", FILES]);
        let answer = git::answer(command, DOING, place);
        let answer = self.explain(answer, from, to)?;
        let mut fields = answer.split(|byte| *byte == 0);
        let mut differences = Vec::new();
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            let read = Difference::read(head, path);
            differences.push(read.ok_or_else(|| WorkspaceError::UnexpectedAnswer {
                doing: DOING,
                place: place.to_owned(),
                detail: String::from_utf8_lossy(head).into_owned(),
            })?);
        }
        Ok(differences)
    }

    /// The unified diff from one snapshot to another.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn diff(
        &self,
        from: &TreeId,
        to: &TreeId,
        options: DiffOptions,
    ) -> Result<Diff, WorkspaceError> {
        let mut command = self.compare();
        command.args(["-p", "--no-color", "--no-ext-diff", "--no-textconv"]);
        command.arg(format!("--unified={}", options.context));
        command.args([from.as_str(), to.as_str(), "--", FILES]);
        let diff = self.read_at_most(command, options.max_bytes);
        self.explain(diff, from, to)
    }

    fn compare(&self) -> Command {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command
            .args(["diff-tree", "-r", "--no-renames"])
            .arg(format!("--relative={FILES}/"));
        command
    }

    fn read_at_most(&self, mut command: Command, limit: usize) -> Result<Diff, WorkspaceError> {
        let place = self.shadow.dir();
        let broken = |e: io::Error| WorkspaceError::io(DOING, place, e);
        let mut child = spawn_shielded(|| command.spawn()).map_err(broken)?;
        let Some(stdout) = child.stdout.take() else {
            return Err(broken(io::ErrorKind::BrokenPipe.into()));
        };
        let mut bytes = Vec::new();
        let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = stdout.take(one_more).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() > limit {
            git::end(&mut child);
            read.map_err(broken)?;
            let whole = bytes[..limit].iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(whole.map_or(0, |end| end + 1));
            return Ok(Diff {
                bytes,
                truncated: true,
            });
        }
        let output = child.wait_with_output().map_err(broken)?;
        if output.status.success() {
            Ok(Diff {
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

    /// Says which snapshot is unknown, if that is why git failed.
    fn explain<T>(
        &self,
        result: Result<T, WorkspaceError>,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<T, WorkspaceError> {
        if let Err(WorkspaceError::Git { .. }) = &result {
            for tree in [from, to] {
                if !self.contains(tree)? {
                    return Err(self.unknown(tree));
                }
            }
        }
        result
    }
}
