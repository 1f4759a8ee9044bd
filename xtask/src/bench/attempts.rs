//! Overhead of an attempt: the difference between runs of six attempts and of one, divided by five,
//! compared with a bare loop that starts the same two programs and syncs a file twice.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use selvedge_core::model::RunResult;

use super::BenchTable;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 15;
const RETRIES: u32 = 5;
pub(super) const FILES: u32 = 2_000;

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let plain = selvedge.plain_directory()?;
    let [all, first, bare] = measure_in(selvedge, &plain, "/bin/true")?;
    let bar = Duration::from_millis(5);
    table.add_overhead("an attempt", all.saturating_sub(first) / RETRIES, bare, bar);

    let repository = selvedge.repository("repository", FILES)?;
    // Each attempt must change the tree, otherwise the run is stuck and stops. `last` keeps the last
    // tree: restoring the best one is not part of an attempt.
    std::fs::write(
        repository.join("selvedge.toml"),
        "[workspace]\non_exhausted = \"last\"\n",
    )?;
    let [all, first, bare] =
        measure_in(selvedge, &repository, "/bin/sh -c 'echo . >> changed.txt'")?;
    let what = format!("an attempt with snapshots of {FILES} files");
    let bar = Duration::from_millis(100);
    table.add_overhead(&what, all.saturating_sub(first) / RETRIES, bare, bar);
    Ok(())
}

/// Measures a run of six attempts, a run of one, and one iteration of the bare loop.
fn measure_in(selvedge: &BenchProgram, dir: &Path, agent: &str) -> XtaskResult<[Duration; 3]> {
    ensure_attempts_made(selvedge.run(dir, agent, "/bin/false", RETRIES))?;
    let run = |retries| time_command(selvedge.run(dir, agent, "/bin/false", retries), 1);
    medians(
        ROUNDS,
        [&mut || run(RETRIES), &mut || run(0), &mut || {
            bare_loop(dir, agent)
        }],
    )
}

/// Ensures that a run makes all attempts: a run that stops early would look fast.
fn ensure_attempts_made(mut run: Command) -> XtaskResult {
    let output = run
        .args(["--format", "json"])
        .stdout(Stdio::piped())
        .output()?;
    let result: RunResult = serde_json::from_slice(&output.stdout)?;
    if result.verification_attempts == RETRIES + 1 {
        Ok(())
    } else {
        let attempts_made = result.verification_attempts;
        Err(format!(
            "{run:?}: {attempts_made} attempts instead of {}",
            RETRIES + 1
        )
        .into())
    }
}

fn bare_loop(dir: &Path, agent: &str) -> XtaskResult<Duration> {
    let mut file = File::create(dir.with_extension("synced"))?;
    let start = Instant::now();
    for _ in 0..RETRIES {
        for program in [agent, "/bin/false"] {
            spawn(program, dir)?;
            file.write_all(b"one line for the journal\n")?;
            file.sync_data()?;
        }
    }
    Ok(start.elapsed() / RETRIES)
}

fn spawn(program: &str, dir: &Path) -> XtaskResult {
    let (program, script) = program.split_once(" -c ").unwrap_or((program, ""));
    let mut command = Command::new(program);
    if !script.is_empty() {
        command.args(["-c", script.trim_matches('\'')]);
    }
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status()?;
    Ok(())
}
