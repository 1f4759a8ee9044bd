//! A program that runs in the background of a test. Its output is read as it arrives, every wait has a
//! timeout, and dropping the handle kills the whole process tree.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::output::CommandOutput;
use super::process_tree;
use crate::watched_value::WatchedValue;

/// A running program.
#[derive(Debug)]
pub struct SpawnedProgram {
    process: std::process::Child,
    pid: Pid,
    root: PathBuf,
    timeout: Duration,
    stdout: Arc<WatchedValue<StreamBuffer>>,
    stderr: Arc<WatchedValue<StreamBuffer>>,
    has_exited: Arc<WatchedValue<bool>>,
}

/// The output of one stream so far.
#[derive(Debug, Default)]
struct StreamBuffer {
    bytes: Vec<u8>,
    is_closed: bool,
}

impl StreamBuffer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl SpawnedProgram {
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
        // A separate process group: signals to it do not reach the test, and it can be signalled as a
        // whole.
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
            // A program may ignore its input; a failed write is not an error.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let stdout = spawn_reader(process.stdout.take().expect("a piped stdout"));
        let stderr = spawn_reader(process.stderr.take().expect("a piped stderr"));
        let pid = Pid::from_child(&process);
        let has_exited = watch_exit(pid);
        Self {
            process,
            pid,
            root,
            timeout: patience,
            stdout,
            stderr,
            has_exited,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.get().text()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.get().text()
    }

    /// Waits until its standard output holds `text`.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        self.wait_for_text(&self.stdout, "stdout", text);
    }

    /// Waits until its standard output holds `text`; returns `false` if the output ends without it or
    /// the timeout expires.
    pub fn try_wait_for_stdout(&self, text: &str) -> bool {
        self.wait_until_printed(&self.stdout, text)
    }

    /// Waits until its standard error holds `text`.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        self.wait_for_text(&self.stderr, "stderr", text);
    }

    /// Sends SIGINT to the process group, as a terminal does on Ctrl-C.
    pub fn interrupt(&self) {
        // The program may have ended already; the test then sees its exit code.
        let _ = rustix::process::kill_process_group(self.pid, Signal::INT);
    }

    /// Sends SIGTERM to the program alone.
    pub fn terminate(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::TERM);
    }

    /// Sends SIGHUP to the program alone.
    pub fn hang_up(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::HUP);
    }

    /// Sends SIGKILL to the program alone; its children keep running.
    pub fn kill(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }

    /// Waits for the exit and for the end of the output; fails the test on a timeout.
    #[track_caller]
    pub fn wait(mut self) -> CommandOutput {
        if self
            .has_exited
            .wait_for(self.timeout, |exited| exited.then_some(()))
            .is_none()
        {
            panic!(
                "still running after {:?}\n{}",
                self.timeout,
                self.describe_output()
            );
        }
        for stream in [&self.stdout, &self.stderr] {
            let closed = |stream: &StreamBuffer| stream.is_closed.then_some(());
            if stream.wait_for(self.timeout, closed).is_none() {
                let keepers = process_tree::processes_in(&self.root);
                panic!(
                    "exited, but its output is kept open by {keepers:?}\n{}",
                    self.describe_output()
                );
            }
        }
        let status = self
            .process
            .wait()
            .expect("the status of a child that has exited");
        CommandOutput::new(self.stdout.get().text(), self.stderr.get().text(), status)
    }

    #[track_caller]
    fn wait_for_text(&self, stream: &WatchedValue<StreamBuffer>, name: &str, text: &str) {
        assert!(
            self.wait_until_printed(stream, text),
            "{text:?} did not come on {name}\n{}",
            self.describe_output()
        );
    }

    fn wait_until_printed(&self, stream: &WatchedValue<StreamBuffer>, text: &str) -> bool {
        let found = stream.wait_for(self.timeout, |stream| {
            let found = stream.text().contains(text);
            (found || stream.is_closed).then_some(found)
        });
        found == Some(true)
    }

    fn describe_output(&self) -> String {
        let (stdout, stderr) = (self.stdout.get().text(), self.stderr.get().text());
        format!("--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

impl Drop for SpawnedProgram {
    fn drop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            process_tree::kill_tree(self.pid);
            // Killed just now: this only reaps it.
            let _ = self.process.wait();
        }
    }
}

fn spawn_reader(mut source: impl Read + Send + 'static) -> Arc<WatchedValue<StreamBuffer>> {
    let stream = Arc::new(WatchedValue::<StreamBuffer>::default());
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

/// Watches for the exit without reaping, so that the process id is not reused until
/// [`SpawnedProgram::wait`] or the drop reaps the process.
fn watch_exit(pid: Pid) -> Arc<WatchedValue<bool>> {
    let has_exited = Arc::new(WatchedValue::new(false));
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
