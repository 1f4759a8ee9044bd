//! Attacks a process and its parent, for tests of the sandbox: `attacker PID REPORT`. The first line of the report has the
//! means that succeed on a process that may be attacked.

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::{Command, Stdio};

use selvedge_testkit::attack_process;

/// The message that a process reporting exits would send.
const FORGED: &[u8] = b"{\"exited\":{\"code\":0}}\n";

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(reporter), Some(report)) = (args.next(), args.next()) else {
        return Err(io::Error::other("usage: attacker PID REPORT"));
    };
    let reporter = reporter.parse().map_err(io::Error::other)?;
    let mut report = File::create(report)?;
    let mut control = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()?;
    let allowed = control.id().try_into().map_err(io::Error::other)?;
    writeln!(report, "{}", attack_process(allowed, FORGED).join(" "))?;
    for target in [Some(reporter), parent_of(reporter)].into_iter().flatten() {
        for means in attack_process(target, FORGED) {
            writeln!(report, "{target}: {means}")?;
        }
    }
    control.kill()?;
    control.wait().map(drop)
}

/// A container's first process has no visible parent.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    Some(parent).filter(|pid| *pid > 0)
}
