//! OpenCode: `opencode run --format json`, a new session for every attempt. It has no limit on
//! turns, silently retries its API without end (the idle timeout ends that), and reports a cost of
//! zero for models without a price.

mod record;

#[cfg(test)]
mod tests;

use super::jsonl::{
    AgentCli, JsonlAgent, ParsedSession, SessionAllowance, has_flag, program_or_default,
    push_option,
};
use super::{SessionRequest, SessionRole};
use crate::environment::EnvironmentMap;

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &["--auto", "--agent"];

/// Disables update checks and sharing.
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
        // With a given title, the model is not asked for one.
        argv.extend(["run", "--format=json", "--title=selvedge"].map(str::to_owned));
        push_option(&mut argv, "--model", request.agent.model.as_ref());
        push_option(&mut argv, "--variant", request.agent.effort.as_ref());
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
