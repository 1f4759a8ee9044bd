//! OpenCode: `opencode run --format json`, a new session for every attempt. It has no limit on turns,
//! asks its API again without end and in silence, which the clock of silence ends, and says of models
//! without a price that they cost nothing.

mod record;

#[cfg(test)]
mod tests;

use super::env::EnvironmentMap;
use super::jsonl::{
    AgentCli, JsonlAgent, ParsedSession, SessionAllowance, has_flag, program_or_default,
};
use super::{SessionRequest, SessionRole};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &["--auto", "--agent"];

/// No look-ups of updates, nothing shared.
const QUIET_ENVIRONMENT: [&str; 2] = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_SHARE"];

/// `OpenCode` as an agent.
pub type OpenCodeAgent = JsonlAgent<OpenCodeRun>;

/// `OpenCode`'s program.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenCodeRun;

impl AgentCli for OpenCodeRun {
    type Parser = ParsedSession<record::OpenCodeEventParser>;

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "opencode");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        // With a title of ours the model is not asked for one.
        argv.extend(["run", "--format=json", "--title=selvedge"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        if let Some(effort) = &request.agent.effort {
            argv.extend(["--variant".to_owned(), effort.clone()]);
        }
        match request.role {
            SessionRole::Judge => argv.push("--agent=plan".to_owned()),
            SessionRole::Implementer if takes_over => {}
            SessionRole::Implementer => argv.push("--auto".to_owned()),
        }
        argv
    }

    fn environment(
        &self,
        _: &SessionRequest,
        _: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        for name in QUIET_ENVIRONMENT {
            environment.entry(name.into()).or_insert_with(|| "1".into());
        }
    }
}
