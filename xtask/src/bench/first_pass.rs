//! Overhead of a run that passes on its first attempt (snapshots, guard, evidence and journal),
//! compared with the time of the agent and the check alone. The baseline runs the check once more and
//! is shown separately.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::BenchTable;
use super::attempts::FILES;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 7;
/// As long as a short test suite.
const CHECK: &str = "sleep 2";
/// Changes the tree, so that no result is reused from the previous round.
const AGENT: &str = "echo . >> changed.txt";
const BAR_PERCENT: u32 = 5;

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let repository = selvedge.repository("green", FILES)?;
    let agent = format!("/bin/sh -c '{AGENT}'");
    let run = |baseline: &str| {
        let mut run = selvedge.run(&repository, &agent, CHECK, 0);
        run.env("SELVEDGE_VERIFICATION_BASELINE", baseline);
        time_command(run, 0)
    };
    let bare = |checks: usize| {
        let start = Instant::now();
        for line in std::iter::once(AGENT).chain(std::iter::repeat_n(CHECK, checks)) {
            let mut part = Command::new("/bin/sh");
            part.args(["-c", line])
                .current_dir(&repository)
                .stdin(Stdio::null());
            time_command(part, 0)?;
        }
        Ok(start.elapsed())
    };
    let [green, parts, with_baseline, parts_with_baseline]: [Duration; 4] = medians(
        ROUNDS,
        [
            &mut || run("off"),
            &mut || bare(1),
            &mut || run("on"),
            &mut || bare(2),
        ],
    )?;
    let what = format!("a run that passes at once, {FILES} files");
    table.add_share(&what, green, parts, BAR_PERCENT);
    let what = format!("{what}, with its baseline");
    table.add_share(&what, with_baseline, parts_with_baseline, BAR_PERCENT);
    Ok(())
}
