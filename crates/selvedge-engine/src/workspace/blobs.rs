//! Reads stored bytes with one `git cat-file --batch` process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::shadow::ShadowRepository;
use crate::process::spawn_with_blocked_signals;

const DOING: &str = "read a snapshot";

/// Reads blobs. Dropping it ends its process.
pub(super) struct BlobReader {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    git_dir: PathBuf,
}

impl BlobReader {
    pub(super) fn open(
        git: &GitProgram,
        shadow: &ShadowRepository,
    ) -> Result<Self, WorkspaceError> {
        let git_dir = shadow.dir().to_owned();
        let mut command = git.command(&git_dir, &git_dir);
        command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = spawn_with_blocked_signals(|| command.spawn())
            .map_err(|e| WorkspaceError::io(DOING, &git_dir, e))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Self {
                child,
                requests: stdin,
                answers: BufReader::new(stdout),
                git_dir,
            }),
            _ => Err(WorkspaceError::io(
                DOING,
                &git_dir,
                io::ErrorKind::BrokenPipe.into(),
            )),
        }
    }

    /// Writes the bytes of the object `name`. An error of `to` is returned unchanged.
    pub(super) fn copy(&mut self, name: &str, to: &mut impl Write) -> io::Result<()> {
        writeln!(self.requests, "{name}")?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let size = head
            .trim_end()
            .rsplit_once(' ')
            .and_then(|(_, size)| size.parse::<u64>().ok());
        let Some(size) = size else {
            let git_dir = self.git_dir.display();
            return Err(io::Error::other(format!(
                "{name} is missing from {git_dir}"
            )));
        };
        let copied = io::copy(&mut (&mut self.answers).take(size), to)?;
        let mut end = [0];
        self.answers.read_exact(&mut end)?;
        if copied == size {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>, WorkspaceError> {
        let mut bytes = Vec::new();
        self.copy(name, &mut bytes)
            .map_err(|e| WorkspaceError::io(DOING, &self.git_dir, e))?;
        Ok(bytes)
    }
}

impl Drop for BlobReader {
    fn drop(&mut self) {
        git::kill_child(&mut self.child);
    }
}
