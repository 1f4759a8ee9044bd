//! How fast a log becomes a digest, and in how much memory, through `selvedge digest`, start
//! included. `wc -l` beside it is about what reading a log costs at all.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::selvedge::Selvedge;
use super::timing::{medians, time};
use super::{Size, Table};
use super::{floods, logs};
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
    floods::memory(selvedge, size, table)?;
    floods::growth(selvedge, &folder.join("log"), table)
}

pub(super) fn reading(mut command: Command, path: &Path) -> Done<Command> {
    command.stdin(File::open(path)?);
    Ok(command)
}

fn count_lines() -> Command {
    let mut command = Command::new("wc");
    command.arg("-l").stdout(Stdio::null());
    command
}
