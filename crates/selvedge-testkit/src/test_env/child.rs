//! A program that runs beside the test: its output is read as it comes, waiting for it always ends,
//! and when the handle is dropped its whole tree goes with it.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::output::Output;
use super::process_tree;
use crate::watched::Watched;

/// A running program.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    pid: Pid,
    root: PathBuf,
    patience: Duration,
    stdout: Arc<Watched<Stream>>,
    stderr: Arc<Watched<Stream>>,
    has_exited: Arc<Watched<bool>>,
}

/// What came out of one of its streams so far.
#[derive(Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    is_closed: bool,
}

impl Stream {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Child {
    #[track_caller]
    pub(super) fn spawn(
        mut command: Command,
        root: PathBuf,
        input: Option<Vec<u8>>,
        patience: Duration,
    ) -> Self {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        // A group of its own: a signal for it is not one for the test, and the group can be ended.
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut process = command.spawn().unwrap_or_else(|error| {
            panic!(
                "failed to start {}: {error}",
                command.get_program().display()
            )
        });
        if let (Some(input), Some(mut stdin)) = (input, process.stdin.take()) {
            // A program that does not read all of its input is no error of the test.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let stdout = read(process.stdout.take().expect("a piped stdout"));
        let stderr = read(process.stderr.take().expect("a piped stderr"));
        let pid = Pid::from_child(&process);
        let has_exited = watch_exit(pid);
        Self {
            process,
            pid,
            root,
            patience,
            stdout,
            stderr,
            has_exited,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What its standard output holds so far.
    pub fn stdout(&self) -> String {
        self.stdout.get().text()
    }

    /// Waits until its standard output holds `text`.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        self.wait_for_text(&self.stdout, "stdout", text);
    }

    /// The same, of a program that may end without: whether it said it.
    pub fn says_on_stdout(&self, text: &str) -> bool {
        self.has_come(&self.stdout, text)
    }

    /// Waits until its standard error holds `text`.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        self.wait_for_text(&self.stderr, "stderr", text);
    }

    /// Ctrl-C: SIGINT to the whole foreground group, as a terminal would send it.
    pub fn interrupt(&self) {
        // The program may be gone already; the test then sees its exit code.
        let _ = rustix::process::kill_process_group(self.pid, Signal::INT);
    }

    /// SIGTERM to the program alone.
    pub fn terminate(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::TERM);
    }

    /// SIGKILL to the program alone: what it started is left to itself.
    pub fn kill(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }

    /// Waits for its end and for the end of its output.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        if self
            .has_exited
            .wait_for(self.patience, |exited| exited.then_some(()))
            .is_none()
        {
            panic!("still running after {:?}\n{}", self.patience, self.so_far());
        }
        for stream in [&self.stdout, &self.stderr] {
            let closed = |stream: &Stream| stream.is_closed.then_some(());
            if stream.wait_for(self.patience, closed).is_none() {
                let keepers = process_tree::processes_in(&self.root);
                panic!(
                    "exited, but its output is kept open by {keepers:?}\n{}",
                    self.so_far()
                );
            }
        }
        let status = self
            .process
            .wait()
            .expect("the status of a child that has exited");
        Output::new(self.stdout.get().text(), self.stderr.get().text(), status)
    }

    #[track_caller]
    fn wait_for_text(&self, stream: &Watched<Stream>, name: &str, text: &str) {
        assert!(
            self.has_come(stream, text),
            "{text:?} did not come on {name}\n{}",
            self.so_far()
        );
    }

    fn has_come(&self, stream: &Watched<Stream>, text: &str) -> bool {
        let found = stream.wait_for(self.patience, |stream| {
            let found = stream.text().contains(text);
            (found || stream.is_closed).then_some(found)
        });
        found == Some(true)
    }

    fn so_far(&self) -> String {
        let (stdout, stderr) = (self.stdout.get().text(), self.stderr.get().text());
        format!("--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            process_tree::end_tree(self.pid);
            // Ended just now: this only reaps it.
            let _ = self.process.wait();
        }
    }
}

fn read(mut source: impl Read + Send + 'static) -> Arc<Watched<Stream>> {
    let stream = Arc::new(Watched::<Stream>::default());
    let sink = Arc::clone(&stream);
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            sink.update(|stream| stream.bytes.extend_from_slice(&buffer[..count]));
        }
        sink.update(|stream| stream.is_closed = true);
    });
    stream
}

/// Notices the exit without reaping, so that the process id stays the child's own until
/// [`Child::wait`] or the drop reaps it.
fn watch_exit(pid: Pid) -> Arc<Watched<bool>> {
    let has_exited = Arc::new(Watched::new(false));
    let sink = Arc::clone(&has_exited);
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options)
        {
        }
        sink.update(|exited| *exited = true);
    });
    has_exited
}
