//! Stores a snapshot with one `git fast-import` that gets the differences from the last snapshot. It gets the bytes
//! themselves, so no attribute or filter can change them. It is started by the first difference; without any, no
//! process is started.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use selvedge_core::model::TreeId;

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::shadow::{LATEST_REF, ShadowRepository};
use crate::process::spawn_with_blocked_signals;

/// The folder of the workspace's files in a snapshot's tree.
pub(super) const FILES_FOLDER: &str = "files";
/// The path of the manifest in a snapshot's tree.
pub(super) const MANIFEST_FILE: &str = "manifest";

const DOING: &str = "store a snapshot";
const BUFFER: usize = 256 * 1024;

/// Git neither loads larger files into memory nor compares them with others.
const SETTINGS: &[&str] = &[
    "core.bigFileThreshold=1m",
    "core.compression=1",
    "fastimport.unpackLimit=1",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Plain,
    Executable,
    Link,
}

impl FileKind {
    pub(super) fn git_mode(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }

    pub(super) fn from_git_mode(mode: &[u8]) -> Option<Self> {
        [Self::Plain, Self::Executable, Self::Link]
            .into_iter()
            .find(|kind| kind.git_mode().as_bytes() == mode)
    }
}

/// A snapshot that is being stored. Dropping it before [`Self::finish`] stores nothing.
pub(super) struct SnapshotImport<'a> {
    git: &'a GitProgram,
    shadow: &'a ShadowRepository,
    base: Option<TreeId>,
    label: &'a str,
    process: Option<ImportProcess>,
}

struct ImportProcess {
    child: Child,
    input: BufWriter<ChildStdin>,
}

impl<'a> SnapshotImport<'a> {
    pub(super) fn new(
        git: &'a GitProgram,
        shadow: &'a ShadowRepository,
        base: Option<TreeId>,
        label: &'a str,
    ) -> Self {
        Self {
            git,
            shadow,
            base,
            label,
            process: None,
        }
    }

    /// Removes a file. All removals must come before the first addition, because a folder may take a file's name.
    pub(super) fn remove(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        self.write_to_git(|input| {
            input.write_all(b"D ")?;
            write_path(input, path)?;
            input.write_all(b"\n")
        })
    }

    /// Adds or replaces a file.
    pub(super) fn add(
        &mut self,
        path: &Path,
        kind: FileKind,
        bytes: &[u8],
    ) -> Result<(), WorkspaceError> {
        let length = bytes.len() as u64;
        self.add_from(path, kind, length, bytes).map(drop)
    }

    /// Adds a file of `length` bytes. Returns `false` if the reader had fewer bytes; then the snapshot cannot be
    /// finished.
    pub(super) fn add_from(
        &mut self,
        path: &Path,
        kind: FileKind,
        length: u64,
        bytes: impl Read,
    ) -> Result<bool, WorkspaceError> {
        let mut copied = 0;
        self.write_to_git(|input| {
            write!(input, "M {} inline ", kind.git_mode())?;
            write_path(input, path)?;
            write!(input, "\ndata {length}\n")?;
            copied = io::copy(&mut bytes.take(length), input)?;
            input.write_all(b"\n")
        })?;
        Ok(copied == length)
    }

    /// Finishes the import. Returns the last snapshot's tree if nothing differs.
    pub(super) fn finish(mut self) -> Result<TreeId, WorkspaceError> {
        if self.process.is_none()
            && let Some(base) = self.base.take()
        {
            return Ok(base);
        }
        self.write_to_git(|input| {
            input.write_all(b"\nls :1 \"\"\ndone\n")?;
            input.flush()
        })?;
        let ImportProcess { child, input } = self.take_process()?;
        drop(input);
        let place = self.shadow.dir();
        let output = child
            .wait_with_output()
            .map_err(|e| WorkspaceError::io(DOING, place, e))?;
        if !output.status.success() {
            let status = output.status.to_string();
            return Err(WorkspaceError::git(DOING, place, status, &output.stderr));
        }
        listed_tree(&output.stdout).ok_or_else(|| WorkspaceError::UnexpectedAnswer {
            doing: DOING,
            place: place.to_owned(),
            detail: format!("no tree in {:?}", String::from_utf8_lossy(&output.stdout)),
        })
    }

    /// Writes to git, which is started if necessary. If git has exited early, the error contains its message.
    fn write_to_git(
        &mut self,
        write: impl FnOnce(&mut BufWriter<ChildStdin>) -> io::Result<()>,
    ) -> Result<(), WorkspaceError> {
        let mut process = self.take_process()?;
        match write(&mut process.input) {
            Ok(()) => {
                self.process = Some(process);
                Ok(())
            }
            Err(e) => Err(process.exit_error(e, self.shadow.dir())),
        }
    }

    fn take_process(&mut self) -> Result<ImportProcess, WorkspaceError> {
        self.process.take().map_or_else(|| self.start(), Ok)
    }

    fn start(&self) -> Result<ImportProcess, WorkspaceError> {
        let place = self.shadow.dir();
        let to_error = |e| WorkspaceError::io(DOING, place, e);
        let mut command = self.git.command(place, place);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command
            .args(["fast-import", "--quiet", "--force", "--done", "--depth=0"])
            .stdin(Stdio::piped());
        let mut child = spawn_with_blocked_signals(|| command.spawn()).map_err(to_error)?;
        let Some(stdin) = child.stdin.take() else {
            return Err(to_error(io::ErrorKind::BrokenPipe.into()));
        };
        let mut process = ImportProcess {
            child,
            input: BufWriter::with_capacity(BUFFER, stdin),
        };
        match self.write_head(&mut process.input) {
            Ok(()) => Ok(process),
            Err(e) => Err(process.exit_error(e, place)),
        }
    }

    /// Writes the beginning of a commit without parents, so that old snapshots can be removed independently.
    fn write_head(&self, input: &mut impl Write) -> io::Result<()> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        writeln!(
            input,
            "commit {LATEST_REF}\nmark :1\ncommitter selvedge <> {now} +0000"
        )?;
        writeln!(input, "data {}\n{}", self.label.len(), self.label)?;
        match &self.base {
            Some(tree) => writeln!(input, "M 040000 {tree} \"\""),
            None => Ok(()),
        }
    }
}

impl ImportProcess {
    fn exit_error(self, error: io::Error, place: &Path) -> WorkspaceError {
        let Self { mut child, input } = self;
        // The process no longer reads the rest of the buffer.
        drop(input.into_parts());
        let mut stderr = Vec::new();
        if let Some(mut pipe) = child.stderr.take() {
            // A partial message is better than none.
            let _ = pipe.read_to_end(&mut stderr);
        }
        git::kill_child(&mut child);
        if stderr.is_empty() {
            WorkspaceError::io(DOING, place, error)
        } else {
            WorkspaceError::git(DOING, place, error.to_string(), &stderr)
        }
    }
}

impl Drop for SnapshotImport<'_> {
    fn drop(&mut self) {
        if let Some(ImportProcess { mut child, input }) = self.process.take() {
            // Git does not store a ref without "done", so the rest is not flushed.
            drop(input.into_parts());
            git::kill_child(&mut child);
        }
    }
}

/// Writes a quoted path, which may contain any byte.
fn write_path(input: &mut impl Write, path: &Path) -> io::Result<()> {
    input.write_all(b"\"")?;
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' => input.write_all(b"\\\"")?,
            b'\\' => input.write_all(b"\\\\")?,
            b'\n' => input.write_all(b"\\n")?,
            other => input.write_all(&[*other])?,
        }
    }
    input.write_all(b"\"")
}

/// Parses the id in `040000 tree ID\t`.
fn listed_tree(answer: &[u8]) -> Option<TreeId> {
    let line = str::from_utf8(answer).ok()?;
    line.strip_prefix("040000 tree ")?.trim_end().parse().ok()
}
