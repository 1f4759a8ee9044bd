//! Commands that agents call: hooks and tools.

use std::path::PathBuf;

use clap::Args;
use selvedge_core::model::RunSpec;

use super::values::whole_number;
use crate::stop_gate::HookAgent;

/// `selvedge hook`
#[derive(Debug, Args)]
#[command(after_help = "\
The work from a prompt to the agent's stop is a run: `selvedge list`, `show`, `stats` and the dashboard \
have it. After --max-refusals refusals, the same failures twice, or a message of the agent that \
begins a line with `CANNOT_SATISFY:`, the agent may stop, and the user sees that the work is not \
verified. Errors of the hook, checks that cannot run, and invalid settings never hold the agent.

The hook does nothing in projects without checks, if no file was changed, and for agents that \
`selvedge run` started. Nothing in the directory is changed or reverted.")]
pub(crate) struct HookArgs {
    /// Agent that calls the hook.
    #[arg(value_name = "AGENT", value_enum)]
    pub(crate) agent: HookAgent,
    /// Maximum number of times that the agent is blocked from finishing after each prompt.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole_number::<u32>(1..=RunSpec::MAX_RETRIES.into(), 3))]
    pub(crate) max_refusals: u32,
    /// Directory of the project [default: the directory of the agent's session].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// Help text of `selvedge install`.
pub(super) const ABOUT_INSTALL: &str = "\
Examples:
  selvedge install claude             this repository: .claude/skills/selvedge, a plug-in
  selvedge install codex --user       all of your repositories
  selvedge install gemini --dry-run   print the changes instead

Claude Code loads the plug-in of a repository once you trust the directory; Codex asks you to review \
new hooks (/hooks).";

/// Help text of `selvedge uninstall`.
pub(super) const ABOUT_UNINSTALL: &str = "\
Examples:
  selvedge uninstall claude             this repository
  selvedge uninstall codex --user       what `install --user` set up for all of your repositories
  selvedge uninstall gemini --dry-run   print the changes instead";

/// `selvedge install`, `selvedge uninstall`
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The agent.
    #[arg(value_name = "AGENT", value_enum)]
    pub(crate) agent: HookAgent,
    /// Use your own settings, for all directories, instead of the repository's.
    #[arg(long)]
    pub(crate) user: bool,
    /// Print the changes without making them.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Directory to use instead of the repository of the current directory.
    #[arg(long, value_name = "PATH", conflicts_with = "user", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// `selvedge mcp`
#[derive(Debug, Args)]
#[command(after_help = "\
Tools: `verify` runs the checks of the project's selvedge.toml once, `digest` condenses a tool's \
output to its failures; `run`, `show`, `explain`, `restore` and `review` are about runs, `submit` \
and `watch` about tasks of a hub. Resources: the report and the digest of each attempt.

Examples:
  claude mcp add selvedge -- selvedge mcp
  selvedge mcp --dir path/to/project       other clients, over standard input and output")]
pub(crate) struct McpArgs {
    /// Directory of the project that tools work in [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
