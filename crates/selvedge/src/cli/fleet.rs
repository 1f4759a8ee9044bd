//! What can be said to a hub, and of a worker.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge worker`
#[derive(Debug, Args)]
#[command(after_help = "\
Agents, models and checks are as this machine's settings say (`selvedge config show`), and a task's
repository's. Whoever may submit to the hub may have commands run here: give the worker a user of its own.

The first SIGTERM lets it finish what it has and take nothing more; a second one gives the tasks back.

Examples:
  selvedge worker --hub https://hub.example --token-file worker.token --slots 4
  selvedge worker --hub http://127.0.0.1:7700 --token-file t --labels gpu,linux --allow-path /srv/repos")]
pub(crate) struct WorkerArgs {
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    /// What this worker can do; a task's labels must be among these.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// How many tasks at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) slots: u32,
    /// Where clones, outputs and the outbox are kept [default: `worker` in the state directory].
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) workdir: Option<PathBuf>,
    /// What the hub calls this worker [default: the host's name and a random end, kept in --workdir].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A folder of this machine that tasks may work in, or clone from; may be given several times.
    #[arg(long = "allow-path", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) allow: Vec<PathBuf>,
}

/// What becomes of a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliverTo {
    /// A patch, among the task's files.
    Patch,
    /// The patch, and a branch that is pushed when the work is verified.
    Branch,
}

/// `selvedge submit`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge submit --repo https://git.example/shop --check 'npm test' \"fix the flaky login test\"
  selvedge submit --file task.json --idempotency-key build-512 --watch")]
pub(crate) struct SubmitArgs {
    /// What is to be done, word for word as the agent gets it.
    #[arg(conflicts_with = "file")]
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-` for standard input): text, a task object in JSON, or one in TOML.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// The git repository that a worker clones.
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,
    /// The revision that the work begins from [default: the repository's default branch].
    #[arg(long, value_name = "REV", requires = "repo")]
    pub(crate) rev: Option<String>,
    /// A folder in the clone; without --repo a folder of the worker's machine.
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<String>,
    /// What becomes of the work [default: patch].
    #[arg(long, value_enum, requires = "repo")]
    pub(crate) deliver: Option<DeliverTo>,
    /// Which of the worker's agents does the work.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A command that must exit with 0; may be given several times. Replaces the repository's own checks.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// A change of tests that the task asks for: a glob of files, or a test's id as reports name it; may be given several times. What it names counts as it was changed, all other tests are run as they were.
    #[arg(long, value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// Corrections after the first attempt, 0 to 5 [default: the hub's].
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How far to verify: 1 the checks, 2 a model as judge, 3 a vote.
    #[arg(long, value_name = "N")]
    pub(crate) tier: Option<u8>,
    /// What a worker must have to take it.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// 0 to 9; the higher goes first.
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<u8>,
    /// Submitted again under the same key, it is the same task.
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Watch it until it is over; the exit code is then that of `run`.
    #[arg(long)]
    pub(crate) watch: bool,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge watch`
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The task: its id, four digits or more from either end of it, or `last`.
    #[arg(value_name = "TASK", default_value = "last")]
    pub(crate) task: String,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge cancel`
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The task: its id, four digits or more from either end of it, or `last`.
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Why, in your words.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge retry`
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// The task that is over: its id, four digits or more from either end of it, or `last`.
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Watch the new task until it is over; the exit code is then that of `run`.
    #[arg(long)]
    pub(crate) watch: bool,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge workers`
#[derive(Debug, Args)]
pub(crate) struct WorkersArgs {
    /// How to speak; `jsonl` prints a worker a line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
