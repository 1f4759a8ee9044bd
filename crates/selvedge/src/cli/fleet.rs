//! Arguments of workers and of commands that talk to a hub.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::run::{BudgetArgs, RETRIES, attempt_hints};
use super::server_settings::ServerConfigArgs;
use super::values::{AT_LEAST_ONE, whole_number};
use crate::hub_client::HubArgs;
use crate::logging::LogFormat;
use crate::output::OutputFormat;

/// `selvedge worker`
#[derive(Debug, Args)]
#[command(after_help = "\
Agents, models and checks come from this machine's settings (`selvedge config show`) and from those \
of a task's repository. Everyone who can submit tasks to the hub can run commands on this machine: \
run the worker as a separate user.

After the first SIGTERM, the worker finishes its tasks and accepts no more; a second one releases \
them.

Every option can also be a key of the --config file (`slots = 4`, `labels = [\"linux\"]`) or a \
variable (SELVEDGE_WORKER_SLOTS=4). Flags replace variables, and variables replace the file.

Exit codes with --once: that of `run` for the task's outcome; 9 if the task was released or its \
lease was lost; 12 if no task came within the idle timeout.

Examples:
  selvedge worker --hub https://hub.example --token-file worker.token --slots 4
  selvedge worker --hub http://127.0.0.1:7700 --token-file t --labels gpu,linux --allow-path /srv
  selvedge worker --config worker.toml --once --idle-timeout 60      one task, then exit")]
pub(crate) struct WorkerArgs {
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    /// Labels of this worker; it only gets tasks whose labels are among these.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Maximum number of tasks at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_number::<u32>(1..=256, 4))]
    pub(crate) slots: u32,
    /// Directory for clones, outputs and the outbox [default: `worker` in the state directory].
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) workdir: Option<PathBuf>,
    /// Name of this worker on the hub [default: the host name and a random suffix, stored in --workdir].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Directory of this machine that tasks may use as their workspace, or clone. Repeatable.
    #[arg(long = "allow-path", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) allow: Vec<PathBuf>,
    /// Take one task regardless of --slots, and exit once it has ended.
    #[arg(long)]
    pub(crate) once: bool,
    /// Exit after this time without a task.
    #[arg(long, value_name = "SECONDS", value_parser = whole_number::<u64>(AT_LEAST_ONE, 60))]
    pub(crate) idle_timeout: Option<u64>,
    /// Exit with 0 regardless of the outcome of the task, even if there was none: for job controllers, which count other
    /// codes as failures of the job.
    #[arg(long, requires = "once")]
    pub(crate) ignore_outcome: bool,
    /// Format of the log on standard error. SELVEDGE_LOG sets its levels: `debug`, or `warn,selvedge=info`.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// The option that selects the file of options, and the one that shows the origins.
    #[command(flatten)]
    pub(crate) config: ServerConfigArgs,
}

/// Delivery of a task's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliverTo {
    /// A patch in the task's files.
    Patch,
    /// The patch, and a branch that is pushed if the work is verified.
    Branch,
}

/// `selvedge submit`
#[derive(Debug, Args)]
#[command(args = attempt_hints(), after_help = "\
Examples:
  selvedge submit --repo https://git.example/shop --check 'npm test' \"fix the flaky login test\"
  selvedge submit --file task.json --idempotency-key build-512 --watch")]
pub(crate) struct SubmitArgs {
    /// Description of the task, passed to the agent unchanged.
    #[arg(conflicts_with = "file")]
    pub(crate) task: Option<String>,
    /// Read the task from a file (`-`: standard input): text, or a task object in JSON or TOML.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Git repository that a worker clones.
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,
    /// Revision from which the work begins [default: the repository's default branch].
    #[arg(long, value_name = "REV", requires = "repo")]
    pub(crate) rev: Option<String>,
    /// Directory in the clone; without --repo, a directory of the worker's machine.
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<String>,
    /// Delivery of the work [default: patch].
    #[arg(long, value_enum, requires = "repo")]
    pub(crate) deliver: Option<DeliverTo>,
    /// Agent that does the work, as the worker names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Command that must exit with 0. Repeatable; replaces the repository's own checks.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These
    /// tests run as changed, all other tests as they were.
    #[arg(long, value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// Retries after the first attempt, 0 to 5 [default: the hub's].
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(RETRIES, 2))]
    pub(crate) retries: Option<u32>,
    /// Limits.
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    /// Verification tier: 1 checks, 2 a judge, 3 a vote of judges.
    #[arg(long, value_name = "N", value_parser = whole_number::<u8>(1..=3, 2))]
    pub(crate) tier: Option<u8>,
    /// Labels that a worker must have.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Priority, 0 to 9; higher ones first.
    #[arg(long, value_name = "N", value_parser = whole_number::<u8>(0..=9, 5))]
    pub(crate) priority: Option<u8>,
    /// Key that identifies the task: submitting it again with the same key creates no new task.
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Submit the task repeatedly: a cron expression of five fields, in UTC unless it ends with a time zone
    /// (`0 3 * * MON-FRI Europe/Berlin`). See `selvedge schedules`.
    #[arg(long, value_name = "CRON", conflicts_with_all = ["watch", "idempotency_key"])]
    pub(crate) schedule: Option<String>,
    /// Name of the schedule [default: the beginning of the description].
    #[arg(long, value_name = "NAME", requires = "schedule")]
    pub(crate) schedule_name: Option<String>,
    /// Follow the task until it ends; the exit code is then that of `run`.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Output format; with --watch, `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge watch`
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Task id, at least four digits of its beginning or end, or `last`.
    #[arg(value_name = "TASK", default_value = "last")]
    pub(crate) task: String,
    /// Output format; `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge cancel`
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// Task id, at least four digits of its beginning or end, or `last`.
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Reason for the cancellation.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) reason: String,
    /// Output format; `json` and `jsonl` print one object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge retry`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge retry last --watch
  selvedge retry --dead                    all tasks that ended `dead` and were not retried
  selvedge retry --dead --worker build-3   only those that this worker held last")]
pub(crate) struct RetryArgs {
    /// Id of the finished task, at least four digits of its beginning or end, or `last`.
    #[arg(value_name = "TASK", required_unless_present = "dead")]
    pub(crate) task: Option<String>,
    /// Retry all tasks that ended `dead`, because the infrastructure failed too often, and were not retried before.
    #[arg(long, conflicts_with_all = ["task", "watch"])]
    pub(crate) dead: bool,
    /// Only tasks that name this agent.
    #[arg(long, value_name = "NAME", requires = "dead")]
    pub(crate) agent: Option<String>,
    /// Only tasks that this worker held last.
    #[arg(long, value_name = "NAME", requires = "dead")]
    pub(crate) worker: Option<String>,
    /// Only tasks that require this label.
    #[arg(long, value_name = "LABEL", requires = "dead")]
    pub(crate) label: Option<String>,
    /// Only tasks with this text in their description, repository or workspace.
    #[arg(long, value_name = "TEXT", requires = "dead")]
    pub(crate) search: Option<String>,
    /// Follow the new task until it ends; the exit code is then that of `run`.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Output format; with --watch, `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge workers`
#[derive(Debug, Args)]
pub(crate) struct WorkersArgs {
    /// Output format; `jsonl` prints one worker per line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
