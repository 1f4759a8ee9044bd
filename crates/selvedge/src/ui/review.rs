//! Carrying out what a person decided on the page: `selvedge review`, run beside it as they would have
//! typed it, with the same locks and the same words.

use std::process::Stdio;
use std::time::Duration;

use selvedge_core::model::exit_code;
use selvedge_face::reading::{Decision, Trouble};
use tokio::process::Command;

/// How long the page waits. Another attempt goes on for as long as it takes; what is refused is
/// refused at once.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_WITH_RETRY: Duration = Duration::from_millis(1500);
/// How much of an error is shown, in characters.
const LONGEST: usize = 600;

/// Runs the command; the answer is for the person.
pub(super) async fn carry_out(run: &str, decision: &Decision) -> Result<String, Trouble> {
    let program = std::env::current_exe().map_err(Trouble::failed)?;
    let mut command = Command::new(program);
    command.args(["review", run, "--format", "json"]);
    command.arg(if decision.accepted {
        "--accept"
    } else {
        "--reject"
    });
    if decision.retry {
        command.arg("--retry");
    }
    command.arg(format!("--reason={}", decision.reason));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(Trouble::failed)?;
    let patience = if decision.retry {
        PATIENCE_WITH_RETRY
    } else {
        PATIENCE
    };
    // Asked for so that it goes on if nobody waits any longer.
    let ended = tokio::spawn(child.wait_with_output());
    let Ok(ended) = tokio::time::timeout(patience, ended).await else {
        return Ok("It is being carried out.".to_owned());
    };
    let output = ended.map_err(Trouble::failed)?.map_err(Trouble::failed)?;
    let refused = [exit_code::USAGE, exit_code::INFRASTRUCTURE].map(i32::from);
    if output
        .status
        .code()
        .is_some_and(|code| !refused.contains(&code))
    {
        return Ok("Decided.".to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::Refused(
        said.trim().chars().take(LONGEST).collect(),
    ))
}
