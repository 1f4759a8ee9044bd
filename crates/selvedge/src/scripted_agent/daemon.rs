//! A process that outlives the agent, as servers and watchers that agents start do.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::script::{Daemon, Escape};

/// Appends its process id to `$1` every `$2` seconds. It does not do so for ever: a test that
/// fails to end it shall not leave it on the machine.
const TICK: &str = r#"
left=10000
while [ "$left" -gt 0 ]; do
    echo $$ >>"$1"
    left=$((left - 1))
    sleep "$2"
done"#;

/// Starts it and does not wait for it. What it appends to is at `write_to`.
pub(super) fn leave_behind(daemon: &Daemon, write_to: &Path) -> io::Result<()> {
    let every = format!("{}.{:03}", daemon.every_ms / 1000, daemon.every_ms % 1000);
    let mut command = match daemon.kind {
        Escape::Background => Command::new("sh"),
        Escape::Setsid => {
            let mut setsid = Command::new("setsid");
            setsid.arg("sh");
            setsid
        }
        Escape::DoubleFork => {
            let mut parent = Command::new("sh");
            parent.args(["-c", r#"setsid sh "$@" &"#, "sh"]);
            parent
        }
    };
    command
        .args(["-c", TICK, "sh"])
        .arg(write_to)
        .arg(every)
        .stdin(Stdio::null());
    if !daemon.holds_stdout {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    if daemon.kind == Escape::DoubleFork {
        child.wait()?;
    }
    Ok(())
}
