//! The command line: what there is to say, and the help that teaches it. No command's work is here.

mod agents;
mod attest;
mod checks;
mod dashboard;
mod fleet;
mod hub;
mod known_failures;
mod reports;
mod review;
mod run;
mod tokens;

use std::path::PathBuf;

use checks::CheckArgs;
use clap::{Args, Parser, Subcommand};

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

pub(crate) use agents::{ClaudeStopArgs, HookCommand, McpArgs};
pub(crate) use attest::AttestCommand;
pub(crate) use dashboard::{StatsArgs, UiArgs};
pub(crate) use fleet::{
    CancelArgs, DeliverTo, RetryArgs, SubmitArgs, WatchArgs, WorkerArgs, WorkersArgs,
};
pub(crate) use hub::ServeArgs;
pub(crate) use known_failures::{KnownArgs, KnownFailuresArgs};
pub(crate) use reports::{CodeHost, ReportArgs};
pub(crate) use review::ReviewArgs;
pub(crate) use run::RunArgs;
pub(crate) use tokens::{ScopeArg, TokensArgs, TokensCommand};

/// Runs a coding agent, has independent checks judge its work, and tries again with a short digest
/// of what failed.
///
/// The verdict is `verified`, or exactly why not. An agent's own word that it is done counts for
/// nothing.
#[derive(Debug, Parser)]
#[command(name = "selvedge", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const AFTER_HELP: &str = "\
Begin here:
  selvedge demo                               see the loop at work, without any model
  selvedge init                               find this repository's checks and write selvedge.toml
  selvedge run \"fix the flaky login test\"     run the agent until the checks pass

Exit codes of `run`, `resume`, `demo` and `verify`:
  0 verified (or unchecked, and said so)   5 turn limit     9 infrastructure
  1 checks still fail                      6 budget         10 cancelled
  2 usage or configuration                 7 needs review   130, 143 interrupted: `selvedge resume`
  3 agent failed, or says it cannot        8 tampered     11 unchanged: passes, but no file was changed
  4 time limit                             (output that cannot be written turns 0 into 9)";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run an agent on a task until independent checks pass.
    Run(Box<RunArgs>),
    /// See the loop at work on a small repository made for it.
    Demo(DemoArgs),
    /// Find this repository's checks, try each once, and write `selvedge.toml`.
    Init(InitArgs),
    /// Say what is installed, what works, and what is enforced.
    Doctor(DoctorArgs),
    /// Run the checks once on work done by anyone. Never retries.
    Verify(VerifyArgs),
    /// List the tests that fail now, as known failures for `selvedge.toml` or a file.
    KnownFailures(KnownFailuresArgs),
    /// Digest a tool's output from standard input: `cargo test 2>&1 | selvedge digest`.
    Digest(DigestArgs),
    /// List runs, the newest first.
    List(ListArgs),
    /// Tell the whole story of a run.
    Show(ShowArgs),
    /// What the loop buys: verified at once, rescued by a retry, not rescued, and the cost of each.
    Stats(StatsArgs),
    /// Show the runs in a browser: a page on this machine alone, for whoever has the link it prints.
    Ui(UiArgs),
    /// Go on with a run that was interrupted.
    Resume(ResumeArgs),
    /// Put the tree of an attempt, or the one before the run, back into the workspace.
    Restore(RestoreArgs),
    /// Accept or reject work that waits for a person.
    Review(ReviewArgs),
    /// Hand a task to a hub.
    Submit(Box<SubmitArgs>),
    /// Watch a hub's task until it is over.
    Watch(WatchArgs),
    /// Stop a hub's task for good.
    Cancel(CancelArgs),
    /// Make a new task from one of a hub's that is over.
    Retry(RetryArgs),
    /// List a hub's workers.
    Workers(WorkersArgs),
    /// Make, list and end a hub's tokens.
    Tokens(TokensArgs),
    /// Carry out tasks for a hub.
    Worker(WorkerArgs),
    /// Make keys for attestations, and check what was attested.
    #[command(subcommand, after_help = attest::ABOUT)]
    Attest(AttestCommand),
    /// Be an agent's hook: it may stop once the checks hold.
    #[command(subcommand, after_help = agents::CLAUDE_STOP)]
    Hook(HookCommand),
    /// Be a tool server for agents (Model Context Protocol over standard input and output).
    Mcp(McpArgs),
    /// Remove clones, copies and snapshots that nobody needs any more.
    Gc(GcArgs),
    /// Keep a queue of tasks for a team, with their history, for workers to carry out.
    Hub(Box<ServeArgs>),
    /// Look at the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// `selvedge demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// A real agent instead of the scripted one.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Where to make the demo's repository [default: a new temporary directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge init`
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The repository [default: here].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Write over an existing `selvedge.toml`.
    #[arg(long)]
    pub(crate) force: bool,
    /// Propose without trying each check once.
    #[arg(long)]
    pub(crate) no_try: bool,
    /// Time for each check that is tried.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) try_timeout: u64,
    /// Print what would be written, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `selvedge doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at the settings of this directory [default: here].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `selvedge verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge verify                          the checks of selvedge.toml, once
  selvedge verify --check 'go test ./...' --format json
  selvedge verify --since origin/main --tier 2 --task 'add a dark theme'
                                           and have a model judge what was changed")]
pub(crate) struct VerifyArgs {
    /// The checks.
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Hold the work against a revision, such as `origin/main`: the checks of its `selvedge.toml` run on it first, and again with its tests where those were changed since.
    #[arg(long, value_name = "REV")]
    pub(crate) since: Option<String>,
    /// A change of tests that the work was to make: a glob of files, or a test's id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were.
    #[arg(long, requires = "since", value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// How far to verify: 1 the checks, 2 a model as judge, 3 a vote; the judges are shown what was changed since REV [default: 1].
    #[arg(
        long,
        value_name = "N",
        requires_if("2", "since"),
        requires_if("3", "since")
    )]
    pub(crate) tier: Option<u8>,
    /// Tests that may fail.
    #[command(flatten)]
    pub(crate) known: KnownArgs,
    /// What the work was to do, for those who judge it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Which configured agent judges; may be given several times.
    #[arg(long = "judge", value_name = "NAME")]
    pub(crate) judges: Vec<String>,
    /// Cap on the cost of those who judge.
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<f64>,
    /// Work in this directory [default: here].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// How to speak; `json` prints the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// What to write for others.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

/// `selvedge digest`
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// The command that printed it: where a line of the output repeats it, its own begins.
    #[arg(long, value_name = "CMD")]
    pub(crate) cmd: Option<String>,
    /// What it printed when it last passed: lines that stood there, too, are not what failed.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) last_green: Option<PathBuf>,
    /// How it exited. Without it a digest never says that all is well.
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) exit: Option<String>,
    /// Most tokens (o200k) that the digest may have.
    #[arg(long, value_name = "N", default_value_t = selvedge_digest::DEFAULT_BUDGET_TOKENS)]
    pub(crate) tokens: usize,
    /// Print the records as JSON instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `selvedge gc`
#[derive(Debug, Args)]
#[command(after_help = "\
Removed are clones (run --worktree, --repo) and copies (run --executions) of runs that ended verified,
snapshots of directories that are gone, verification rooms that ended runs have left, remembered baselines of over 30 days, and
agents' caches that were unused for 30 days or exceed 10 GB in all. Runs' journals, prompts and outputs stay. `selvedge doctor`
shows how much space each takes.")]
pub(crate) struct GcArgs {
    /// Also the clones and copies of runs that ended otherwise; their work is lost unless a branch has it.
    #[arg(long)]
    pub(crate) failed: bool,
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `selvedge list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs in this directory.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Only runs that are not over.
    #[arg(long)]
    pub(crate) open: bool,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// How to speak; `jsonl` prints a run a line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub; without one the runs of this machine are meant.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge show last                              the story of the newest run
  selvedge show 4f2a9c1e --attempt 2 --prompt     what the second attempt was told
  selvedge show 4f2a9c1e --attempt 1 --check 2    all that a check printed
  selvedge show 4f2a9c1e --attempt 1 --transcript all that the agent printed")]
pub(crate) struct ShowArgs {
    /// The run: its id, four digits or more from either end of it, or `last` for the newest on this machine [default: the latest run of this directory, or else the newest]. With --hub, the newest task.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// One attempt only.
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    /// What the attempts changed, as a unified diff: of one attempt with --attempt, else of them all.
    #[arg(long, conflicts_with_all = ["check", "transcript"])]
    pub(crate) diff: bool,
    /// The whole prompt of each attempt shown.
    #[arg(long)]
    pub(crate) prompt: bool,
    /// All that one check of an attempt printed: its number in the plan, from 1.
    #[arg(
        long,
        value_name = "K",
        requires = "attempt",
        conflicts_with = "transcript"
    )]
    pub(crate) check: Option<usize>,
    /// All that the agent printed in an attempt.
    #[arg(long, requires = "attempt")]
    pub(crate) transcript: bool,
    /// How to speak; `jsonl` prints the events.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// What to write for others.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
    /// Which hub; without one the runs of this machine are meant.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run: its id, four digits or more from either end of it, or `last` for the newest on this machine [default: the latest run of this directory].
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// What to write for others.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

/// `selvedge restore`
#[derive(Debug, Args)]
#[command(
    after_help = "What the workspace holds now is kept first; the way back to it is printed."
)]
pub(crate) struct RestoreArgs {
    /// The run: its id, four digits or more from either end of it, or `last` for the newest on this machine [default: the latest run of this directory].
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The tree that this attempt left.
    #[arg(long, value_name = "N", required_unless_present_any = ["original", "tree"])]
    pub(crate) attempt: Option<u32>,
    /// The tree that the run began from.
    #[arg(long, conflicts_with = "attempt")]
    pub(crate) original: bool,
    /// Any kept tree of the workspace, by its name: what an earlier restore replaced.
    #[arg(long, value_name = "TREE", conflicts_with_all = ["attempt", "original"])]
    pub(crate) tree: Option<String>,
}

/// `selvedge config`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// The values in force, and where each comes from.
    Show {
        /// The settings of this directory [default: here].
        #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The defaults, with every key explained.
    Default,
}
