//! Arguments of `selvedge run`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, Args};
use selvedge_core::config::Flags;
use selvedge_core::model::RunSpec;
use selvedge_engine::checks::to_argv;

use super::checks::CheckArgs;
use super::known_failures::KnownArgs;
use super::values::{AT_LEAST_ONE, usd_amount, whole_number};
use crate::hub_client::HubArgs;
use crate::output::{OutputFormat, ReportArgs};

/// Range of the number of retries.
pub(super) const RETRIES: RangeInclusive<u64> = 0..=RunSpec::MAX_RETRIES as u64;

/// `selvedge run`
#[derive(Debug, Args)]
#[command(args = attempt_hints(), after_help = "\
Two or three retries are usually enough. The maximum is five: an agent that fails after five \
corrections needs a person. Errors of a model's API are retried separately and do not count.

Examples:
  selvedge run \"fix the flaky login test\" --check 'cargo test'
  selvedge run --file TASK.md --agent ollama --retries 3
  selvedge run --isolated \"fix the parser\"       in a clone; the result is a branch
  selvedge run --file plan.toml                 several subtasks, each with its own checks
  selvedge run --agent-cmd 'my-agent --yes' --check ./ci.sh --format json \"update the parser\"")]
pub(crate) struct RunArgs {
    /// Description of the task, passed to the agent unchanged.
    #[arg(conflicts_with = "file")]
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-`: standard input): text, or a task object in JSON or TOML (`.toml`); it
    /// may be a plan with several `[[subtasks]]`.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Agent that does the work: `claude`, `codex`, `gemini`, `qwen`, `opencode`, `aider`, `mini`, `ollama`, a
    /// configured agent, or `acp:PROGRAM` for a program that supports the Agent Client Protocol [default: claude].
    #[arg(long, value_name = "NAME", conflicts_with = "agent_cmd")]
    pub(crate) agent: Option<String>,
    /// Agents for successive attempts; the last one is reused.
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["agent", "agent_cmd"])]
    pub(crate) escalate: Vec<String>,
    /// Use this command as the agent; it reads the prompt from standard input. Shell syntax works as in --check.
    #[arg(long, value_name = "CMD")]
    pub(crate) agent_cmd: Option<String>,
    /// The checks.
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These
    /// tests run as changed, all other tests as they were.
    #[arg(long, value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// Retries after the first attempt, 0 to 5 [default: 2].
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(RETRIES, 2))]
    pub(crate) retries: Option<u32>,
    /// Verification tier: 1 checks, 2 a judge, 3 a vote of judges [default: 1].
    #[arg(long, value_name = "N", value_parser = whole_number::<u8>(1..=3, 2))]
    pub(crate) tier: Option<u8>,
    /// Configured agent that judges in tiers 2 and 3. Repeatable.
    #[arg(long = "judge", value_name = "NAME")]
    pub(crate) judges: Vec<String>,
    /// Run the task N times in parallel, 2 to 9, each in a copy of the directory, and select the result that most
    /// runs agree on. In tier 3, this replaces the vote of judges.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(2..=9, 3))]
    pub(crate) best_of: Option<u32>,
    /// Time limit for each agent session [default: 30m].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Run the checks once before the agent begins: `auto`, `on` or `off` [default: auto].
    ///
    /// The baseline separates earlier failures from those of the agent, and detects missing tests. Its
    /// results are cached per tree for later runs.
    #[arg(long, value_name = "WHEN")]
    pub(crate) baseline: Option<String>,
    /// Tests that may fail.
    #[command(flatten)]
    pub(crate) known: KnownArgs,
    /// Limits.
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    /// Fail if the agent does not report the usage that a budget needs (default: warn).
    #[arg(long)]
    pub(crate) require_cost_reporting: bool,
    /// Maximum number of model turns of each session, for agents that count them.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=1_000_000, 50))]
    pub(crate) max_turns: Option<u32>,
    /// When the agent reports that the usage limit of its subscription is reached until some time: `wait` until
    /// then, at most `limits.usage_limit_max_wait`, or `stop`: suspend the run, for `selvedge resume`
    /// [default: wait].
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_usage_limit: Option<String>,
    /// Directory to work in [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Work in a clone of the committed files, and create the branch `selvedge/RUN` with the result in this
    /// repository; the files checked out here do not change.
    #[arg(long, group = "clone")]
    pub(crate) isolated: bool,
    /// Work in a clone of this repository: a URL, `user@host:path` or a directory. The branch `selvedge/RUN` stays
    /// in the clone, or is pushed with --push.
    #[arg(long, value_name = "URL", group = "clone", conflicts_with = "dir")]
    pub(crate) repo: Option<String>,
    /// Branch, tag or commit from which the clone begins [default: the commit that is checked out there].
    #[arg(long, value_name = "REV", requires = "clone")]
    pub(crate) rev: Option<String>,
    /// Push the branch to the repository of --repo.
    #[arg(long)]
    pub(crate) push: bool,
    /// Remove the clone after its verified work was delivered; otherwise `selvedge gc` removes it.
    #[arg(long, requires = "clone")]
    pub(crate) clean: bool,
    /// Skip verification: the outcome is `unchecked`.
    #[arg(long, conflicts_with = "checks")]
    pub(crate) no_verify: bool,
    /// Output format; `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Reports to write.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
    /// Hub that runs the task, instead of this machine.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Limits of a whole run.
#[expect(clippy::struct_field_names, reason = "these are the options' names")]
#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Maximum cost of the whole run.
    #[arg(long, value_name = "USD", value_parser = usd_amount)]
    pub(crate) max_cost: Option<f64>,
    /// Maximum number of input and output tokens of the whole run.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(AT_LEAST_ONE, 500_000))]
    pub(crate) max_tokens: Option<u32>,
    /// Maximum time of the whole run in sessions and verification.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) max_duration: Option<String>,
}

/// Hidden arguments that are not accepted: their errors name `--retries`.
pub(super) fn attempt_hints() -> [Arg; 2] {
    ["attempts", "max-attempts"].map(|name| {
        let hint = UnknownArgumentValueParser::suggest_arg("--retries")
            .and_suggest("`--retries N` allows N attempts after the first one");
        Arg::new(name)
            .long(name)
            .value_name("N")
            .hide(true)
            .value_parser(hint)
    })
}

impl RunArgs {
    /// The arguments that override settings.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            agent: self.agent.clone(),
            escalate: self.escalate.clone(),
            agent_cmd: self.agent_cmd.as_deref().map(agent_argv),
            retries: self.retries,
            tier: self.tier,
            judges: self.judges.clone(),
            best_of: self.best_of,
            timeout: self.timeout.clone(),
            baseline: self.baseline.clone(),
            known_failures: self.known.known_failures.clone(),
            known_failures_file: self.known.absolute_file(),
            max_cost: self.budget.max_cost,
            max_tokens: self.budget.max_tokens,
            max_duration: self.budget.max_duration.clone(),
            require_cost_reporting: self.require_cost_reporting,
            max_turns: self.max_turns,
            on_usage_limit: self.on_usage_limit.clone(),
            ..self.check.flags()
        }
    }
}

/// The argument vector of an agent's command line; empty if the line is, which is an error of the settings.
fn agent_argv(line: &str) -> Vec<String> {
    if line.trim().is_empty() {
        return Vec::new();
    }
    to_argv(line)
}
