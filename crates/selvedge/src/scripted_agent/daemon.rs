//! Starts a process that outlives the agent, such as a server or a file watcher.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::script::{Daemon, DetachMethod};

/// Appends its process id to `$1` every `$2` seconds. Ends by itself after 10,000 times, so that a test that fails to
/// end it does not leave it on the machine.
const DAEMON_SCRIPT: &str = r#"
left=10000
while [ "$left" -gt 0 ]; do
    echo $$ >>"$1"
    left=$((left - 1))
    sleep "$2"
done"#;

/// Starts the process without waiting for it; it appends to `write_to`.
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
