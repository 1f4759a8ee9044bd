//! Overhead of the sandbox for each program that starts in it: a verification with one instant check,
//! with each backend and with none.

use std::time::Duration;

use super::BenchTable;
use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use crate::XtaskResult;

const ROUNDS: usize = 50;
const BAR: Duration = Duration::from_millis(15);

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let directory = selvedge.directory("walls")?;
    let verify = |backend: &str| {
        let mut verify = selvedge.command(&["verify", "--check", "true", "--dir"]);
        verify
            .arg(&directory)
            .env("SELVEDGE_SANDBOX_BACKEND", backend);
        time_command(verify, 0)
    };
    let [bubblewrap, landlock, bare] = medians(
        ROUNDS,
        [
            &mut || verify("bubblewrap"),
            &mut || verify("landlock"),
            &mut || verify("none"),
        ],
    )?;
    table.add_duration("a check behind bubblewrap", bubblewrap, bare, BAR);
    table.add_duration("a check behind Landlock", landlock, bare, BAR);
    Ok(())
}
