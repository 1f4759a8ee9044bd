//! Commands that agents call: hooks and tools.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `selvedge hook`
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Claude Code's Stop hook: block the agent from finishing until the project's checks pass.
    ///
    /// Reads the hook's JSON from standard input and runs the checks of `selvedge.toml`. If they fail,
    /// the agent is blocked and gets a digest of the failures. After --max-blocks times, it may stop,
    /// and its work is reported as not verified.
    #[command(after_help = CLAUDE_STOP)]
    ClaudeStop(ClaudeStopArgs),
}

/// Setup instructions for `hook --help` and `hook claude-stop --help`.
pub(crate) const CLAUDE_STOP: &str = r#"Add to .claude/settings.json of the repository, or for all repositories to ~/.claude/settings.json:

  {
    "hooks": {
      "Stop": [
        { "hooks": [
          { "type": "command", "command": "selvedge hook claude-stop", "timeout": 300 }
        ] }
      ]
    }
  }

The timeout, in seconds, must be long enough for the checks: if the hook times out, the agent may
stop. The hook does nothing in projects without checks and for agents that `selvedge run` started.

Errors of the hook itself exit with 1 and never block the agent."#;

/// `selvedge hook claude-stop`
#[derive(Debug, Args)]
pub(crate) struct ClaudeStopArgs {
    /// Maximum number of times that the agent is blocked after each message of the user. Claude Code
    /// itself silently ignores the ninth consecutive block.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub(crate) max_blocks: u32,
    /// Directory of the project [default: $CLAUDE_PROJECT_DIR, or the session's directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// `selvedge mcp`
#[derive(Debug, Args)]
#[command(after_help = "\
Tools: `verify` runs the checks of the project's selvedge.toml once, `digest` condenses a tool's
output to its failures; `run`, `show`, `explain`, `restore` and `review` are about runs, `submit`
and `watch` about tasks of a hub. Resources: the report and the digest of each attempt.

Examples:
  claude mcp add selvedge -- selvedge mcp
  selvedge mcp --dir path/to/project       other clients, over standard input and output")]
pub(crate) struct McpArgs {
    /// Directory of the project that tools work in [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
