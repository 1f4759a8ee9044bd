//! A process that outlives the agent, as servers and watchers that agents start do.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::script::{Daemon, DetachMethod};

/// Appends its process id to `$1` every `$2` seconds. It does not do so for ever: a test that
/// fails to end it shall not leave it on the machine.
const DAEMON_SCRIPT: &str = r#"
left=10000
while [ "$left" -gt 0 ]; do
    echo $$ >>"$1"
    left=$((left - 1))
    sleep "$2"
done"#;

/// Starts it and does not wait for it. What it appends to is at `write_to`.
pub(super) fn spawn_daemon(daemon: &Daemon, write_to: &Path) -> io::Result<()> {
    let every = format!("{}.{:03}", daemon.every_ms / 1000, daemon.every_ms % 1000);
    let mut command = match daemon.kind {
        DetachMethod::Background => Command::new("sh"),
        DetachMethod::Setsid => {
            let mut setsid = Command::new("setsid");
            setsid.arg("sh");
            setsid
        }
        DetachMethod::DoubleFork => {
            let mut parent = Command::new("sh");
            parent.args(["-c", r#"setsid sh "$@" &"#, "sh"]);
            parent
        }
    };
    command
        .args(["-c", DAEMON_SCRIPT, "sh"])
        .arg(write_to)
        .arg(every)
        .stdin(Stdio::null());
    if !daemon.holds_stdout {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    if daemon.kind == DetachMethod::DoubleFork {
        child.wait()?;
    }
    Ok(())
}
