//! Reads stored bytes with one `git cat-file --batch` process, which is started by the first request.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::shadow::ShadowRepository;
use crate::process::spawn_with_blocked_signals;

const DOING: &str = "read a snapshot";

/// Reads blobs. Dropping it ends its process.
pub(super) struct BlobReader {
    git: GitProgram,
    git_dir: PathBuf,
    process: Option<BatchProcess>,
    /// Objects that were requested and are not read yet.
    requested: VecDeque<String>,
}

struct BatchProcess {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl BatchProcess {
    fn start(git: &GitProgram, git_dir: &Path) -> io::Result<Self> {
        let mut command = git.command(git_dir, git_dir);
        command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = spawn_with_blocked_signals(|| command.spawn())?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self {
                child,
                requests,
                answers: BufReader::new(answers),
            }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl BlobReader {
    pub(super) fn new(git: &GitProgram, shadow: &ShadowRepository) -> Self {
        Self {
            git: git.clone(),
            git_dir: shadow.dir().to_owned(),
            process: None,
            requested: VecDeque::new(),
        }
    }

    fn process(&mut self) -> io::Result<&mut BatchProcess> {
        match &mut self.process {
            Some(process) => Ok(process),
            none => Ok(none.insert(BatchProcess::start(&self.git, &self.git_dir)?)),
        }
    }

    /// Requests objects that are then read in this order. Git looks each one up while the one before is written.
    pub(super) fn request_all(&mut self, names: Vec<String>) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let requests = self.process()?.requests.as_fd().try_clone_to_owned()?;
        let mut requests = File::from(requests);
        let mut lines = names.join("\n");
        lines.push('\n');
        self.requested.extend(names);
        // Git stops reading requests while its answers are not read, so they are written by another thread. It ends
        // with the last request, or when the process ends.
        thread::spawn(move || requests.write_all(lines.as_bytes()));
        Ok(())
    }

    /// Writes the bytes of the object `name`. An error of `to` is returned unchanged.
    pub(super) fn copy(&mut self, name: &str, to: &mut impl Write) -> io::Result<()> {
        let next = self.requested.pop_front();
        let process = self.process()?;
        match next {
            None => writeln!(process.requests, "{name}")?,
            Some(next) if next == name => {}
            Some(next) => {
                let message = format!("{next} was requested before {name}");
                return Err(io::Error::other(message));
            }
        }
        let mut head = String::new();
        process.answers.read_line(&mut head)?;
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
        let copied = io::copy(&mut (&mut process.answers).take(size), to)?;
        let mut end = [0];
        process.answers.read_exact(&mut end)?;
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

impl Drop for BatchProcess {
    fn drop(&mut self) {
        git::kill_child(&mut self.child);
    }
}
