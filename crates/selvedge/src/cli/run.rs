//! `selvedge run`: what can be said of a run.

use std::path::PathBuf;

use clap::Args;
use selvedge_core::config::Flags;

use super::checks::CheckArgs;
use super::known_failures::KnownArgs;
use super::reports::ReportArgs;
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge run`
#[derive(Debug, Args)]
#[command(after_help = "\
Retries count attempts, not seconds. Two or three corrections are worth it; five is the cap, because
an agent that was corrected five times needs a person. Trouble with a model's API is retried apart
and never counts.

Examples:
  selvedge run \"fix the flaky login test\" --check 'cargo test'
  selvedge run --file TASK.md --agent ollama --retries 3
  selvedge run --worktree \"fix the parser\"       in a clone; the work comes back as a branch
  selvedge run --file plan.toml                 subtasks one after the other, each with its own checks
  selvedge run --agent-cmd 'my-agent --yes' --check ./ci.sh --format json \"update the parser\"")]
pub(crate) struct RunArgs {
    /// What is to be done, word for word as the agent gets it.
    #[arg(conflicts_with = "file")]
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-` for standard input): text, a task object in JSON, or one in TOML
    /// (`.toml`), which may be a plan of several `[[subtasks]]`.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Which configured agent does the work: `claude`, `codex`, `gemini`, `qwen`, `opencode`, `aider`, `mini`, `ollama`, one of your own, or `acp:PROGRAM` for any that speaks the Agent Client Protocol; `cursor`, `amp`, `droid`, `copilot` and `goose` are experimental [default: claude].
    #[arg(long, value_name = "NAME", conflicts_with = "agent_cmd")]
    pub(crate) agent: Option<String>,
    /// Who works, try by try: several names, the first for the first attempt; the last one stays.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["agent", "agent_cmd"])]
    pub(crate) escalate: Vec<String>,
    /// Any program as the agent: it gets the prompt on standard input.
    #[arg(long, value_name = "'PROGRAM …'")]
    pub(crate) agent_cmd: Option<String>,
    /// The checks.
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// A change of tests that the task asks for: a glob of files, or a test's id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were.
    #[arg(long, value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// Corrections after the first attempt, 0 to 5 [default: 2].
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How far to verify: 1 the checks, 2 a model as judge, 3 a vote [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) tier: Option<u8>,
    /// Which configured agent judges in tiers 2 and 3; may be given several times.
    #[arg(long = "judge", value_name = "NAME")]
    pub(crate) judges: Vec<String>,
    /// Run the task this often side by side, 2 to 9, each in a copy of the directory; the work that most agree
    /// with stays. It is what votes in tier 3, instead of judges.
    #[arg(long, value_name = "N")]
    pub(crate) executions: Option<u32>,
    /// Time for each agent session [default: 30m].
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Run the checks once before the agent begins: `auto`, `on` or `off` [default: auto].
    ///
    /// What failed before is then told from what the agent broke, and no test may quietly go. What
    /// a check said of a tree is remembered for the next run.
    #[arg(long, value_name = "WHEN")]
    pub(crate) baseline: Option<String>,
    /// Tests that may fail.
    #[command(flatten)]
    pub(crate) known: KnownArgs,
    /// Cap on the cost of the whole run.
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<f64>,
    /// Cap on the tokens of the whole run, in and out.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// Cap on the time that the whole run spends in sessions and verification.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_wall: Option<String>,
    /// Refuse to begin where an agent does not tell what a cap needs, instead of saying so.
    #[arg(long)]
    pub(crate) strict_budget: bool,
    /// Cap on the model turns of each session, where the agent counts them.
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Work in this directory [default: here].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Work in a clone of what is committed here, and give the work back as the branch `selvedge/RUN`: what is
    /// checked out here stays as it is.
    #[arg(long, group = "own")]
    pub(crate) worktree: bool,
    /// Work in a clone of this repository: a URL, `user@host:path` or a folder. The branch `selvedge/RUN` stays in
    /// the clone, or goes back with --push.
    #[arg(long, value_name = "URL", group = "own", conflicts_with = "dir")]
    pub(crate) repo: Option<String>,
    /// The branch, tag or commit that the clone begins from [default: what is checked out there].
    #[arg(long, value_name = "REV", requires = "own")]
    pub(crate) rev: Option<String>,
    /// Push the branch to the repository of --repo.
    #[arg(long)]
    pub(crate) push: bool,
    /// Remove the clone once its verified work was given back. Without it `selvedge gc` does.
    #[arg(long, requires = "own")]
    pub(crate) clean: bool,
    /// Verify nothing: the outcome is `unchecked`.
    #[arg(long, conflicts_with = "checks")]
    pub(crate) no_verify: bool,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// What to write for others.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
    /// Which hub carries it out; without one, this machine does.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

impl RunArgs {
    /// The settings among the flags.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            agent: self.agent.clone(),
            escalate: self.escalate.clone(),
            agent_cmd: self.agent_cmd.clone(),
            retries: self.retries,
            tier: self.tier,
            judges: self.judges.clone(),
            executions: self.executions,
            timeout: self.timeout.clone(),
            baseline: self.baseline.clone(),
            known_failures: self.known.known_failures.clone(),
            known_failures_file: self.known.absolute_file(),
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            max_wall: self.max_wall.clone(),
            strict_budget: self.strict_budget,
            max_turns: self.max_turns,
            ..self.check.flags()
        }
    }
}
