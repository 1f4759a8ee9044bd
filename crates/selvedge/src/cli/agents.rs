//! Commands that agents call, not people: hooks of their programs, and tools.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `selvedge hook`
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Claude Code's Stop hook: the agent may stop once the project's checks hold.
    ///
    /// Reads the hook's JSON on standard input and runs the checks of `selvedge.toml`. While they
    /// fail, the agent is held back and told what failed; after --max-blocks times it is let go, and
    /// that its work is not verified is said.
    #[command(after_help = CLAUDE_STOP)]
    ClaudeStop(ClaudeStopArgs),
}

/// How to set it up, for `hook --help` and `hook claude-stop --help`.
pub(crate) const CLAUDE_STOP: &str = r#"Set it up in .claude/settings.json of the repository (or ~/.claude/settings.json, for all of yours):

  {
    "hooks": {
      "Stop": [
        { "hooks": [
          { "type": "command", "command": "selvedge hook claude-stop", "timeout": 300 }
        ] }
      ]
    }
  }

The timeout, in seconds, must leave the checks the time that they need: a hook that is cut off lets
the agent stop. A project without checks, and an agent that `selvedge run` started, are left alone.

What goes wrong in the hook itself exits with 1 and never holds the agent back."#;

/// `selvedge hook claude-stop`
#[derive(Debug, Args)]
pub(crate) struct ClaudeStopArgs {
    /// How often an agent is held back since a person last spoke to it. Claude Code itself overrides
    /// the ninth time in a row, in silence.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub(crate) max_blocks: u32,
    /// The project [default: $CLAUDE_PROJECT_DIR, or else the session's directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// `selvedge mcp`
#[derive(Debug, Args)]
#[command(after_help = "\
Tools: `verify` runs the checks of the project's selvedge.toml once, `digest` shortens a tool's output
to what failed, `show` tells the story of a run.

Examples:
  claude mcp add selvedge -- selvedge mcp
  selvedge mcp --dir path/to/project       for any other client, over standard input and output")]
pub(crate) struct McpArgs {
    /// The project that `verify` looks at [default: here].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
