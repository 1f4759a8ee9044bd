//! Amp: `amp --execute --stream-json`, with records like Claude Code's. It tells no cost.

use super::records::{Allowance, Program, Recorded, has_flag, program_or};
use crate::agents::{Role, SessionRequest, claude};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &["--dangerously-allow-all", "--settings-file"];

/// Amp as an agent.
pub type Amp = Recorded<AmpExecute>;

/// Amp's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct AmpExecute;

impl Program for AmpExecute {
    type Reading = claude::Reading;

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "amp");
        let asks_nobody = request.role == Role::Worker && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--execute", "--stream-json"].map(str::to_owned));
        if asks_nobody {
            argv.push("--dangerously-allow-all".to_owned());
        }
        argv
    }
}
