//! OpenCode: `opencode run --format json`, a new session for every attempt. It has no limit on turns,
//! asks its API again without end and in silence, which the clock of silence ends, and says of models
//! without a price that they cost nothing.

mod record;

#[cfg(test)]
mod tests;

use super::env::Environment;
use super::records::{Allowance, Folded, Program, Recorded, has_flag, program_or};
use super::{Role, SessionRequest};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &["--auto", "--agent"];

/// No look-ups of updates, nothing shared.
const QUIET: [&str; 2] = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_SHARE"];

/// `OpenCode` as an agent.
pub type OpenCode = Recorded<OpenCodeRun>;

/// `OpenCode`'s program.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenCodeRun;

impl Program for OpenCodeRun {
    type Reading = Folded<record::Records>;

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "opencode");
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
            Role::Judge => argv.push("--agent=plan".to_owned()),
            Role::Worker if takes_over => {}
            Role::Worker => argv.push("--auto".to_owned()),
        }
        argv
    }

    fn environment(&self, _: &SessionRequest, _: Allowance, environment: &mut Environment) {
        for name in QUIET {
            environment.entry(name.into()).or_insert_with(|| "1".into());
        }
    }
}
