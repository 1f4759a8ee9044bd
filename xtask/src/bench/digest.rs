//! Speed and memory of `selvedge digest`, including its start. `wc -l` is measured for comparison: it
//! shows the cost of reading a log at all.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use super::{BenchSize, BenchTable};
use super::{floods, logs};
use crate::XtaskResult;

const ROUNDS: usize = 5;
const MEGABYTES: u32 = 256;

pub(super) fn measure(
    selvedge: &BenchProgram,
    size: BenchSize,
    table: &mut BenchTable,
) -> XtaskResult {
    let folder = selvedge.directory("logs")?;
    for log in &logs::ORDINARY_LOGS {
        let path = folder.join("log");
        log.write(&mut BufWriter::new(File::create(&path)?), MEGABYTES)?;
        let [digest, count] = medians(
            ROUNDS,
            [
                &mut || time_command(with_stdin(selvedge.command(&log.args()), &path)?, 0),
                &mut || time_command(with_stdin(count_lines(), &path)?, 0),
            ],
        )?;
        let speed = |time: Duration| f64::from(MEGABYTES) / time.as_secs_f64();
        table.add_speed(
            &format!("digest of {}", log.what),
            speed(digest),
            speed(count),
            log.bar,
        );
    }
    floods::measure_memory(selvedge, size, table)?;
    floods::measure_growth(selvedge, &folder.join("log"), table)
}

pub(super) fn with_stdin(mut command: Command, path: &Path) -> XtaskResult<Command> {
    command.stdin(File::open(path)?);
    Ok(command)
}

fn count_lines() -> Command {
    let mut command = Command::new("wc");
    command.arg("-l").stdout(Stdio::null());
    command
}
