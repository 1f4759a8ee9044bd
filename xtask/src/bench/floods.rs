//! Digests of very long and of hostile logs. The memory must not grow with the log, and a log of twice
//! the length must take no more than about twice as long.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use super::bench_program::BenchProgram;
use super::digest::with_stdin;
use super::logs::{self, SyntheticLog};
use super::timing::{medians, time_command};
use super::{BenchSize, BenchTable, memory};
use crate::XtaskResult;

const ROUNDS: usize = 3;
/// The lengths of the logs whose durations are compared, in MB.
const MEGABYTES: u32 = 50;
const TWICE: u32 = 2 * MEGABYTES;
/// Maximum ratio of the durations when the length doubles.
const GROWTH: f64 = 2.5;

/// Measures the peak memory for each kind of log. The logs are fed through a pipe, so that they need no
/// disk space.
pub(super) fn measure_memory(
    selvedge: &BenchProgram,
    size: BenchSize,
    table: &mut BenchTable,
) -> XtaskResult {
    let mut most = (0, "");
    for log in logs::ORDINARY_LOGS.iter().chain(&logs::HOSTILE_LOGS) {
        let kib = peak_kib(selvedge, log, size.gigabytes() * 1000)?;
        println!("memory of a digest of {}: {kib} KiB", log.what);
        most = most.max((kib, log.what));
    }
    let (kib, what) = most;
    let kinds = logs::ORDINARY_LOGS.len() + logs::HOSTILE_LOGS.len();
    let note = format!("the most of {kinds} kinds, each through a pipe: {what}");
    let row = format!("memory of a digest of {} GB", size.gigabytes());
    table.add_memory(&row, kib, &note, 32);
    Ok(())
}

fn peak_kib(
    selvedge: &BenchProgram,
    log: &'static SyntheticLog,
    megabytes: u32,
) -> XtaskResult<u64> {
    let mut child = selvedge
        .command(&log.args())
        .stdin(Stdio::piped())
        .spawn()?;
    let pipe = child.stdin.take().ok_or("no pipe")?;
    let writer = std::thread::spawn(move || -> io::Result<()> {
        let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
        log.write(&mut pipe, megabytes)?;
        pipe.flush()
    });
    let peak = memory::measure_peak(&mut child)?;
    writer.join().map_err(|_| "the log's writer panicked")??;
    Ok(peak.own_kib)
}

/// Measures how much longer a hostile log of twice the length takes.
pub(super) fn measure_growth(
    selvedge: &BenchProgram,
    path: &Path,
    table: &mut BenchTable,
) -> XtaskResult {
    let twice = path.with_extension("twice");
    let (mut slowest, mut most) = (0.0_f64, (0.0_f64, ""));
    for log in &logs::HOSTILE_LOGS {
        for (path, megabytes) in [(path, MEGABYTES), (&twice, TWICE)] {
            log.write(&mut BufWriter::new(File::create(path)?), megabytes)?;
        }
        let digest = |path| time_command(with_stdin(selvedge.command(&log.args()), path)?, 0);
        let [half, whole] = medians(ROUNDS, [&mut || digest(path), &mut || digest(&twice)])?;
        let ratio = whole.as_secs_f64() / half.as_secs_f64();
        println!("{TWICE} MB of {}: {whole:.1?}, ×{ratio:.2}", log.what);
        slowest = slowest.max(whole.as_secs_f64());
        if ratio > most.0 {
            most = (ratio, log.what);
        }
    }
    let what = format!("digest of {TWICE} MB of what is hostile, at most {slowest:.1} s");
    table.add_growth(
        &what,
        most.0,
        &format!("{MEGABYTES} MB of it: {}", most.1),
        GROWTH,
    );
    Ok(())
}
