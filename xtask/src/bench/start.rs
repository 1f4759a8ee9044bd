//! Startup time: of `selvedge --version`, and until an agent runs with a durable journal.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::bench_program::BenchProgram;
use super::timing::{medians, time_command};
use super::{BenchTable, STAMP};
use crate::XtaskResult;

const ROUNDS: usize = 50;

pub(super) fn measure(selvedge: &BenchProgram, table: &mut BenchTable) -> XtaskResult {
    let [version, bare] = medians(
        ROUNDS,
        [
            &mut || time_command(selvedge.command(&["--version"]), 0),
            &mut || time_command(Command::new("/bin/true"), 0),
        ],
    )?;
    table.add_duration(
        "`selvedge --version`",
        version,
        bare,
        Duration::from_millis(5),
    );

    let empty = selvedge.repository("empty", 0)?;
    let plain = selvedge.plain_directory()?;
    let clock = AgentStartClock::new(&selvedge.directory("clock")?)?;
    let [in_repository, in_plain, bare] = medians(
        ROUNDS,
        [
            &mut || clock.time_to_agent(selvedge.run(&empty, &clock.agent(), "true", 0)),
            &mut || clock.time_to_agent(selvedge.run(&plain, &clock.agent(), "true", 0)),
            &mut || clock.time_to_agent(clock.bare()),
        ],
    )?;
    let bar = Duration::from_millis(30);
    table.add_duration("start to agent, empty repository", in_repository, bare, bar);
    table.add_duration("start to agent, snapshots off", in_plain, bare, bar);
    Ok(())
}

/// An agent that writes the time of its start to a file.
struct AgentStartClock {
    program: String,
    file: String,
}

impl AgentStartClock {
    fn new(folder: &Path) -> XtaskResult<Self> {
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

    /// Measures the time from now until the command's agent has started.
    fn time_to_agent(&self, command: Command) -> XtaskResult<Duration> {
        let start = SystemTime::now().duration_since(UNIX_EPOCH)?;
        time_command(command, 0)?;
        let stamp: u64 = std::fs::read_to_string(&self.file)?.parse()?;
        Ok(Duration::from_nanos(stamp).saturating_sub(start))
    }
}
