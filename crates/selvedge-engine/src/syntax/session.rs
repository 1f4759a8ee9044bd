//! One program run on the files that were laid out: supervised, with its clock, an environment of
//! its own, and its output in files.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::checks::CheckAborted;
use crate::process::capture::{CaptureError, Plan, StreamPlan};
use crate::process::{Command, How, Limits, Session, Stdin, Supervisor};

/// The longest that a parser may take; it needs milliseconds.
const LIMIT: Duration = Duration::from_secs(30);
/// How much of what it prints is read.
const OUTPUT_CAP: u64 = 4 << 20;

/// Where parsers run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Holds the files, and nothing else that was there before.
    pub folder: PathBuf,
    /// Begins the mark of every process.
    pub tag: String,
    /// Held for as long as anything of them lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: Supervisor,
    /// When all must be said.
    pub deadline: Instant,
}

/// What to run.
pub(super) struct Run<'a> {
    /// Unique among the runs of one bench.
    pub(super) name: String,
    pub(super) argv: Vec<OsString>,
    /// What it reads, a file in the folder.
    pub(super) input: Option<&'a Path>,
    /// Whether it finds its own parts by the user's folders.
    pub(super) at_home: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The exit code; none where it did not end by itself.
    pub(super) code: Option<i32>,
    /// Whether its time was up.
    pub(super) out_of_time: bool,
}

impl Bench {
    /// Runs it to its end. What cannot be started has said nothing.
    pub(super) async fn run(
        &self,
        run: Run<'_>,
        cancel: &CancellationToken,
    ) -> Result<Output, CheckAborted> {
        let Run {
            name,
            argv,
            input,
            at_home,
        } = run;
        let [stdout, stderr] = ["out", "err"].map(|end| self.folder.join(format!("{name}.{end}")));
        let command = Command {
            env: environment(at_home),
            stdin: input.map_or(Stdin::Null, |file| Stdin::File(file.to_owned())),
            lock: Some(self.lock.clone()),
            grace: Duration::ZERO,
            opens: vec![self.folder.clone()],
            ..Command::new(argv, &self.folder, format!("{}.{name}", self.tag))
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limits = Limits {
            wall: Some(left.min(LIMIT)),
            silence: None,
        };
        let capped = |file: &Path| StreamPlan {
            file_cap: OUTPUT_CAP,
            ..StreamPlan::to_file(file)
        };
        let plan = Plan {
            stdout: capped(&stdout),
            stderr: capped(&stderr),
        };
        let how = match Session::prepare(&self.supervisor, &command).await {
            Ok(prepared) => {
                crate::process::run(prepared, limits, plan, cancel)
                    .await
                    .how
            }
            Err(_) => How::Lost,
        };
        match how {
            How::Cancelled => return Err(CheckAborted::Cancelled),
            How::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
                return Err(CheckAborted::Infrastructure(error.to_string()));
            }
            _ => {}
        }
        Ok(Output {
            stdout: read(&stdout),
            stderr: read(&stderr),
            code: match how {
                How::Exited(code) => Some(code),
                _ => None,
            },
            out_of_time: matches!(how, How::TimedOut | How::Silent),
        })
    }
}

fn read(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// Nothing of the user's own that could make a parser load or run something; and English.
fn environment(at_home: bool) -> Vec<(OsString, OsString)> {
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
