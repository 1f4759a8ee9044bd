//! The command line of Claude Code for a session without a person.
//!
//! Permissions: by default the agent may edit files below the workspace and run commands without
//! asking (`--permission-mode acceptEdits --allowedTools=Bash`). An agent that cannot run the tests
//! is of little use in a loop, and this form still obeys the deny rules of the user's own settings
//! and works for root. If any permission flag is configured (`--dangerously-skip-permissions`,
//! `--permission-mode plan`, …), ours are not added. A judge gets no tools, including those of the
//! user or of plug-ins, except the one with which it answers in the required format.

use selvedge_core::gate;
use selvedge_core::model::MicroUsd;

use crate::agents::jsonl::{SessionAllowance, has_flag, program_or_default, push_option};
use crate::agents::{SessionRequest, SessionRole};

const DEFAULT_PROGRAM: &str = "claude";

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &[
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--permission-mode",
    "--permission-prompt-tool",
    "--allowedTools",
    "--allowed-tools",
];

/// No tools, no MCP servers, no skills.
const NO_TOOLS_FLAGS: [&str; 4] = [
    "--tools",
    "",
    "--strict-mcp-config",
    "--disable-slash-commands",
];

/// Program and arguments. The prompt goes to standard input, where no length limit applies and no
/// process list shows it.
pub(super) fn command_line(request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
    let mut argv = program_or_default(request, DEFAULT_PROGRAM);
    let takes_over = has_flag(&argv, PERMISSION_FLAGS);
    argv.extend(["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned));
    push_option(&mut argv, "--model", request.agent.model.as_ref());
    push_option(&mut argv, "--effort", request.agent.effort.as_ref());
    push_option(&mut argv, "--max-turns", allowance.turns);
    push_option(
        &mut argv,
        "--max-budget-usd",
        allowance.cost.map(format_dollars),
    );
    if request.role == SessionRole::Judge {
        argv.extend(NO_TOOLS_FLAGS.map(str::to_owned));
        argv.extend(["--json-schema".to_owned(), gate::schema().to_string()]);
    } else if !takes_over {
        let ours = ["--permission-mode", "acceptEdits", "--allowedTools=Bash"];
        argv.extend(ours.map(str::to_owned));
    }
    argv
}

/// As a plain decimal: a float would print very small amounts with an exponent.
fn format_dollars(cost: MicroUsd) -> String {
    format!("{}.{:06}", cost.0 / 1_000_000, cost.0 % 1_000_000)
}
