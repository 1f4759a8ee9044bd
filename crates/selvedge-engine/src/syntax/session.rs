//! Runs one program on the copied files: supervised, with a time limit, its own environment, and
//! its output in files.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::check_error::CheckError;
use crate::process::capture::{CaptureError, CapturePlan, StreamPlan};
use crate::process::{
    EndReason, Session, SessionCommand, SessionTimeouts, StdinSource, Supervisor,
};

/// Time limit of a parser; it usually needs milliseconds.
const PARSER_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of its output that are read.
const OUTPUT_CAP: u64 = 4 << 20;

/// Environment in which parsers run.
#[derive(Debug, Clone)]
pub struct ParserContext {
    /// Contains the files and nothing else. In a sandbox, parsers cannot write there.
    pub folder: PathBuf,
    /// The workspace, canonical: TypeScript is parsed by the one that is installed there.
    pub workspace: PathBuf,
    /// Prefix of the tag of every process.
    pub tag: String,
    /// Locked while any of these processes is alive.
    pub lock: PathBuf,
    /// Starts supervised processes.
    pub supervisor: Supervisor,
    /// When all verdicts must be available.
    pub deadline: Instant,
}

/// The program to run.
pub(super) struct ParserRun<'a> {
    /// Unique among the runs in one folder.
    pub(super) name: String,
    pub(super) argv: Vec<OsString>,
    /// Its standard input, a file in the folder.
    pub(super) input: Option<&'a Path>,
    /// Whether it needs the user's folders to find its own parts.
    pub(super) has_user_folders: bool,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct ParserOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The exit code; `None` if it did not exit by itself.
    pub(super) code: Option<i32>,
    /// Whether the time limit was reached.
    pub(super) is_timed_out: bool,
}

impl ParserContext {
    /// Runs the program to its end. A program that cannot be started produces no output.
    pub(super) async fn run(
        &self,
        run: ParserRun<'_>,
        cancel: &CancellationToken,
    ) -> Result<ParserOutput, CheckError> {
        let ParserRun {
            name,
            argv,
            input,
            has_user_folders: at_home,
        } = run;
        let [stdout, stderr] = ["out", "err"].map(|end| self.folder.join(format!("{name}.{end}")));
        let command = SessionCommand {
            env: parser_environment(at_home),
            stdin: input.map_or(StdinSource::Null, |file| StdinSource::File(file.to_owned())),
            lock: Some(self.lock.clone()),
            grace: Duration::ZERO,
            ..SessionCommand::new(argv, &self.folder, format!("{}.{name}", self.tag))
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limits = SessionTimeouts {
            wall: Some(left.min(PARSER_TIMEOUT)),
            idle: None,
        };
        let capped = |file: &Path| StreamPlan {
            file_cap: OUTPUT_CAP,
            ..StreamPlan::to_file(file)
        };
        let plan = CapturePlan {
            stdout: capped(&stdout),
            stderr: capped(&stderr),
        };
        let how = match Session::prepare(&self.supervisor, &command).await {
            Ok(prepared) => {
                crate::process::run(prepared, limits, plan, cancel)
                    .await
                    .reason
            }
            Err(_) => EndReason::SupervisorLost,
        };
        match how {
            EndReason::Cancelled => return Err(CheckError::Cancelled),
            EndReason::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
                return Err(CheckError::DiskFull(error.to_string()));
            }
            _ => {}
        }
        Ok(ParserOutput {
            stdout: read_output(&stdout),
            stderr: read_output(&stderr),
            code: match how {
                EndReason::Exited(code) => Some(code),
                _ => None,
            },
            is_timed_out: matches!(how, EndReason::TimedOut | EndReason::IdleTimeout),
        })
    }
}

fn read_output(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// Excludes settings of the user that could make a parser load or run something; sets English.
fn parser_environment(at_home: bool) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
    ];
    let homes = ["HOME", "RUSTUP_HOME", "CARGO_HOME"]
        .into_iter()
        .filter(|_| at_home);
    env.extend(homes.filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    env
}
