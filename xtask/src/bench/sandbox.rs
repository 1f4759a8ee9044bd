//! Overhead of the sandbox for each program that starts in it: what a further instant check adds to a verification, with
//! each backend and with none; and what `bwrap` by hand adds to the same program, with the mounts of a check and with
//! the fewest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::BenchTable;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 30;
/// How many checks a verification has in addition to the first, for which the sandbox is planned.
const FURTHER_CHECKS: u32 = 10;
const BAR: Duration = Duration::from_millis(15);
/// Bar of the overhead of bubblewrap's sandbox, in multiples of that of `bwrap` by hand.
const FACTOR_BAR: f64 = 1.5;
/// How long the start of a check may take.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// The least that isolates a program as the sandbox does: processes, files outside of a folder, and the home.
const BWRAP_OPTIONS: &str =
    "--unshare-pid --unshare-ipc --die-with-parent --ro-bind / / --dev /dev --proc /proc";

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let directory = selvedge.directory("walls")?;
    let verify = |backend: &str, further_checks: u32| {
        let mut verify = selvedge.command(&["verify", "--check", "true", "--dir"]);
        verify
            .arg(&directory)
            .env("SELVEDGE_SANDBOX_BACKEND", backend);
        for number in 0..further_checks {
            verify.args(["--check", &format!("check{number}=true")]);
        }
        time_command(verify, 0)
    };
    let home = selvedge.directory("home")?;
    let fewest_mounts = || {
        let mut bwrap = Command::new("bwrap");
        bwrap
            .args(BWRAP_OPTIONS.split(' '))
            .arg("--bind")
            .args([&directory, &directory])
            .arg("--tmpfs")
            .arg(&home)
            .args(["--", "true"]);
        time_command(bwrap, 0)
    };
    // The folders that are mounted exist while a check runs.
    let mut waiting = WaitingCheck::start(selvedge)?;
    let arguments = waiting.bwrap_arguments()?;
    let all_mounts = || {
        let mut bwrap = Command::new("bwrap");
        bwrap.args(&arguments).args(["--", "true"]);
        time_command(bwrap, 0)
    };
    let [
        bubblewrap,
        bubblewraps,
        landlock,
        landlocks,
        bare,
        bares,
        all_mounts,
        fewest_mounts,
        program,
    ] = medians(
        ROUNDS,
        [
            &mut || verify("bubblewrap", 0),
            &mut || verify("bubblewrap", FURTHER_CHECKS),
            &mut || verify("landlock", 0),
            &mut || verify("landlock", FURTHER_CHECKS),
            &mut || verify("none", 0),
            &mut || verify("none", FURTHER_CHECKS),
            &mut || all_mounts(),
            &mut || fewest_mounts(),
            &mut || time_command(Command::new("true"), 0),
        ],
    )?;
    waiting.end()?;
    let further = |one: Duration, all: Duration| all.saturating_sub(one) / FURTHER_CHECKS;
    let bubblewrap = further(bubblewrap, bubblewraps);
    let landlock = further(landlock, landlocks);
    let bare = further(bare, bares);
    let ours = bubblewrap.saturating_sub(bare);
    for (mounts, by_hand) in [
        ("the same mounts", all_mounts),
        ("the fewest mounts", fewest_mounts),
    ] {
        let by_hand = by_hand.saturating_sub(program);
        table.add_growth(
            &format!("bubblewrap's sandbox of a check, against `bwrap` with {mounts}"),
            ours.as_secs_f64() / by_hand.as_secs_f64(),
            &format!(
                "{:.2} ms more than without, `bwrap` by hand {:.2} ms more",
                ours.as_secs_f64() * 1e3,
                by_hand.as_secs_f64() * 1e3
            ),
            FACTOR_BAR,
        );
    }
    table.add_duration("a further check behind bubblewrap", bubblewrap, bare, BAR);
    table.add_duration("a further check behind Landlock", landlock, bare, BAR);
    Ok(())
}

/// A verification whose check waits in bubblewrap's sandbox.
struct WaitingCheck {
    verification: Child,
    /// Tells the check to end when something is written to it.
    end: PathBuf,
}

impl WaitingCheck {
    fn start(selvedge: &BenchProgram) -> XtaskResult<Self> {
        let directory = selvedge.directory("waiting")?;
        let end = directory.join("end");
        crate::program::run(Command::new("mkfifo").arg(&end))?;
        let mut verify = selvedge.command(&[
            "verify",
            "--check",
            "cat end",
            "--verification-timeout",
            "1h",
            "--dir",
        ]);
        verify
            .arg(&directory)
            .env("SELVEDGE_SANDBOX_BACKEND", "bubblewrap");
        Ok(Self {
            verification: verify.spawn()?,
            end,
        })
    }

    /// The arguments of the `bwrap` that the check runs in, without its program.
    fn bwrap_arguments(&self) -> XtaskResult<Vec<String>> {
        let directory = self.end.parent().unwrap_or(&self.end);
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(mut arguments) = find_bwrap(directory) {
                let program = arguments.iter().position(|argument| argument == "--");
                arguments.truncate(program.unwrap_or_default());
                return Ok(arguments.split_off(1));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the check that waits did not start in bubblewrap".into())
    }

    fn end(&mut self) -> XtaskResult {
        fs::write(&self.end, "")?;
        let status = self.verification.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the check that waited: {status}").into())
        }
    }
}

impl Drop for WaitingCheck {
    fn drop(&mut self) {
        // Already ended, except after an error.
        let _ = self.verification.kill();
    }
}

/// The command line of a `bwrap` that mounts a folder.
fn find_bwrap(folder: &Path) -> Option<Vec<String>> {
    let folder = folder.to_str()?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| {
        let line = String::from_utf8_lossy(&line);
        let arguments = line.trim_end_matches('\0').split('\0');
        arguments.map(str::to_owned).collect::<Vec<_>>()
    });
    lines.find(|arguments| {
        let is_bwrap = arguments.first().is_some_and(|it| it.ends_with("/bwrap"));
        is_bwrap && arguments.iter().any(|argument| argument == folder)
    })
}
