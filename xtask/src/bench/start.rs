//! How long it takes to begin: to say the version, and to have an agent running with the journal
//! durable.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::selvedge::Selvedge;
use super::timing::{medians, time};
use super::{STAMP, Table};
use crate::Done;

const ROUNDS: usize = 50;

pub(super) fn measure(selvedge: &Selvedge, table: &mut Table) -> Done {
    let [version, bare] = medians(
        ROUNDS,
        [
            &mut || time(selvedge.command(&["--version"]), 0),
            &mut || time(Command::new("/bin/true"), 0),
        ],
    )?;
    table.within(
        "`selvedge --version`",
        version,
        bare,
        Duration::from_millis(5),
    );

    let empty = selvedge.repository("empty", 0)?;
    let plain = selvedge.plain()?;
    let clock = Clock::new(&selvedge.directory("clock")?)?;
    let [in_repository, in_plain, bare] = medians(
        ROUNDS,
        [
            &mut || clock.until_stamped(selvedge.run(&empty, &clock.agent(), "true", 0)),
            &mut || clock.until_stamped(selvedge.run(&plain, &clock.agent(), "true", 0)),
            &mut || clock.until_stamped(clock.bare()),
        ],
    )?;
    let bar = Duration::from_millis(30);
    table.within("start to agent, empty repository", in_repository, bare, bar);
    table.within("start to agent, snapshots off", in_plain, bare, bar);
    Ok(())
}

/// An agent that says when it began, by writing a file.
struct Clock {
    program: String,
    file: String,
}

impl Clock {
    fn new(folder: &Path) -> Done<Self> {
        let program = std::env::current_exe()?.to_string_lossy().into_owned();
        let file = folder.join("stamp").to_string_lossy().into_owned();
        Ok(Self { program, file })
    }

    fn agent(&self) -> String {
        format!("'{}' {STAMP} '{}'", self.program, self.file)
    }

    fn bare(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args([STAMP, &self.file]);
        command
    }

    /// From now until the agent that the command runs has begun.
    fn until_stamped(&self, command: Command) -> Done<Duration> {
        let start = SystemTime::now().duration_since(UNIX_EPOCH)?;
        time(command, 0)?;
        let stamp: u64 = std::fs::read_to_string(&self.file)?.parse()?;
        Ok(Duration::from_nanos(stamp).saturating_sub(start))
    }
}
