//! How fast a log becomes a digest, and in how much memory, through `selvedge digest`, start
//! included. `wc -l` beside it is about what reading a log costs at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::logs;
use super::selvedge::Selvedge;
use super::timing::{medians, time};
use super::{Size, Table, memory};
use crate::Done;

const ROUNDS: usize = 5;
const MEGABYTES: u32 = 256;

pub(super) fn measure(selvedge: &Selvedge, size: Size, table: &mut Table) -> Done {
    let folder = selvedge.directory("logs")?;
    for log in &logs::ALL {
        let path = folder.join("log");
        log.write(&mut BufWriter::new(File::create(&path)?), MEGABYTES)?;
        let [digest, count] = medians(
            ROUNDS,
            [
                &mut || time(reading(selvedge.command(&log.args()), &path)?, 0),
                &mut || time(reading(count_lines(), &path)?, 0),
            ],
        )?;
        let speed = |time: Duration| f64::from(MEGABYTES) / time.as_secs_f64();
        table.speed(
            &format!("digest of {}", log.what),
            speed(digest),
            speed(count),
            log.bar,
        );
    }
    resident(selvedge, size, table)
}

fn reading(mut command: Command, path: &Path) -> Done<Command> {
    command.stdin(File::open(path)?);
    Ok(command)
}

fn count_lines() -> Command {
    let mut command = Command::new("wc");
    command.arg("-l").stdout(Stdio::null());
    command
}

/// Fed through a pipe, so that no disk need hold it.
fn resident(selvedge: &Selvedge, size: Size, table: &mut Table) -> Done {
    let log = &logs::FAILING_TESTS;
    let mut child = selvedge
        .command(&log.args())
        .stdin(Stdio::piped())
        .spawn()?;
    let pipe = child.stdin.take().ok_or("no pipe")?;
    let megabytes = size.gigabytes() * 1000;
    let writer = std::thread::spawn(move || -> io::Result<()> {
        let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
        log.write(&mut pipe, megabytes)?;
        pipe.flush()
    });
    let peak = memory::peak(&mut child)?;
    writer.join().map_err(|_| "the log's writer panicked")??;
    let what = format!("memory of a digest of {} GB", size.gigabytes());
    table.memory(&what, peak.own_kib, "failing tests, through a pipe", 32);
    Ok(())
}
