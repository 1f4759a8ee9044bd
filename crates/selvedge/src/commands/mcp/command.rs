//! Tools that are commands of this program. Each runs in a process of its own, because its output is the tool's answer
//! and its end must not end the server.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use rustix::process::{Pid, Signal, kill_process};
use selvedge_core::model::exit_code;
use selvedge_engine::environment::host_env;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::error::CliError;
use crate::terminal::one_line;

/// Longest part of the output's end that is answered, in bytes.
const ANSWER_BYTES: usize = 16_000;
/// Longest message of a progress notification, in characters.
const PROGRESS_CHARS: usize = 200;
/// Shortest time between two progress notifications.
const PROGRESS_PAUSE: Duration = Duration::from_millis(250);

/// Time that a cancelled command gets to end its processes and to record that it was interrupted.
const CANCEL_PATIENCE: Duration = Duration::from_secs(20);

/// The running commands, which end before the server does.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandGroup {
    stop: CancellationToken,
    /// Every command holds it for reading.
    at_work: Arc<RwLock<()>>,
}

impl CommandGroup {
    /// Interrupts all commands, and waits for their ends.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let _all_ended = self.at_work.write().await;
    }
}

/// Runs a command of this program in a directory, and returns what it printed. Its lines are reported as progress if
/// the client requested it. A command that could not do its work is an error; a run that is not verified is not. A
/// cancelled command is interrupted, as by Ctrl-C, and killed only if it does not end.
pub(super) async fn run_command(
    arguments: &[String],
    dir: &Path,
    context: &RequestContext<RoleServer>,
    group: &CommandGroup,
) -> Result<String, CliError> {
    let _at_work = group.at_work.read().await;
    let program = std::env::current_exe().map_err(CliError::infrastructure)?;
    let child = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .envs(host_env())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(CliError::infrastructure)?;
    let pid = child.id();
    let mut output = CommandAnswer::new(context);
    let code = {
        let mut ended = std::pin::pin!(output.follow(child));
        tokio::select! {
            code = &mut ended => code?,
            () = cancelled(context, group) => {
                interrupt(pid);
                // If it does not end, it is killed when it is dropped.
                let _ = tokio::time::timeout(CANCEL_PATIENCE, ended).await;
                return Err(CliError::infrastructure("cancelled"));
            }
        }
    };
    let text = output.text();
    match code {
        Some(exit_code::USAGE) => Err(CliError::usage(text)),
        Some(exit_code::INFRASTRUCTURE) | None => Err(CliError::infrastructure(text)),
        Some(exit_code::VERIFIED) => Ok(text),
        Some(code) => Ok(format!("{text}\n(exit code {code})")),
    }
}

/// Waits until the client cancels the request or the server stops.
async fn cancelled(context: &RequestContext<RoleServer>, group: &CommandGroup) {
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = group.stop.cancelled() => {}
    }
}

fn interrupt(pid: Option<u32>) {
    let pid = pid.and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // It may have ended meanwhile; its number is not reused before it is waited for.
        let _ = kill_process(pid, Signal::INT);
    }
}

/// The end of a command's output.
struct CommandAnswer<'a> {
    context: &'a RequestContext<RoleServer>,
    lines: VecDeque<String>,
    bytes: usize,
    is_cut: bool,
    reported: u32,
    reported_at: Option<Instant>,
}

impl<'a> CommandAnswer<'a> {
    const fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self {
            context,
            lines: VecDeque::new(),
            bytes: 0,
            is_cut: false,
            reported: 0,
            reported_at: None,
        }
    }

    /// Reads the output until the command ends; returns its exit code, unless a signal ended it.
    async fn follow(&mut self, mut child: Child) -> Result<Option<u8>, CliError> {
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(CliError::infrastructure("the command has no output"));
        };
        let mut stdout = BufReader::new(stdout).split(b'\n');
        let mut stderr = BufReader::new(stderr).split(b'\n');
        let (mut is_stdout_open, mut is_stderr_open) = (true, true);
        while is_stdout_open || is_stderr_open {
            let line = tokio::select! {
                line = stdout.next_segment(), if is_stdout_open => {
                    let line = line.map_err(CliError::infrastructure)?;
                    is_stdout_open = line.is_some();
                    line
                }
                line = stderr.next_segment(), if is_stderr_open => {
                    let line = line.map_err(CliError::infrastructure)?;
                    is_stderr_open = line.is_some();
                    line
                }
            };
            if let Some(line) = line {
                self.add_line(&String::from_utf8_lossy(&line)).await;
            }
        }
        let status = child.wait().await.map_err(CliError::infrastructure)?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()))
    }

    async fn add_line(&mut self, line: &str) {
        self.report_progress(line).await;
        self.bytes += line.len() + 1;
        self.lines.push_back(line.to_owned());
        while self.bytes > ANSWER_BYTES && self.lines.len() > 1 {
            let removed = self.lines.pop_front().unwrap_or_default();
            self.bytes -= removed.len() + 1;
            self.is_cut = true;
        }
    }

    async fn report_progress(&mut self, line: &str) {
        let is_due = self
            .reported_at
            .is_none_or(|at| at.elapsed() >= PROGRESS_PAUSE);
        if line.trim().is_empty() || !is_due {
            return;
        }
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        self.reported += 1;
        self.reported_at = Some(Instant::now());
        let progress = ProgressNotificationParam::new(token, f64::from(self.reported))
            .with_message(one_line(line, PROGRESS_CHARS));
        // A client that is gone does not read the answer either.
        let _ = self.context.peer.notify_progress(progress).await;
    }

    fn text(self) -> String {
        let mut text = String::new();
        if self.is_cut {
            text += "… (cut)\n";
        }
        for line in self.lines {
            text += &line;
            text.push('\n');
        }
        text.trim_end().to_owned()
    }
}
