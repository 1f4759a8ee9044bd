//! Amp: `amp --execute --stream-json`, with records like Claude Code's. It reports no cost.

use super::jsonl::{AgentCli, JsonlAgent, SessionAllowance, has_flag, program_or_default};
use crate::agents::{SessionRequest, SessionRole, claude};

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &["--dangerously-allow-all", "--settings-file"];

/// Amp as an agent.
pub type AmpAgent = JsonlAgent<AmpExecute>;

/// Amp's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct AmpExecute;

impl AgentCli for AmpExecute {
    type Parser = claude::ClaudeSessionParser;

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "amp");
        let asks_nobody =
            request.role == SessionRole::Implementer && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--execute", "--stream-json"].map(str::to_owned));
        if asks_nobody {
            argv.push("--dangerously-allow-all".to_owned());
        }
        argv
    }
}
