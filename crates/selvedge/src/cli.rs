//! The command line: arguments and help texts of all commands.

mod agents;
mod attest;
mod audit;
mod checks;
mod dashboard;
mod errors;
mod fleet;
mod help;
mod hub;
mod hub_objects;
mod hub_oidc;
mod known_failures;
mod projects;
mod review;
mod run;
mod schedules;
mod server_settings;
mod tokens;
mod values;
mod webhooks;

use std::ffi::OsString;
use std::path::PathBuf;

use checks::CheckArgs;
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use selvedge_core::config::HumanDuration;
use selvedge_core::model::TreeId;
use selvedge_engine::environment::host_env;
use values::{AT_LEAST_ONE, time, usd_amount, whole_number};

use crate::error::CliError;
use crate::hub_client::HubArgs;
use crate::output::{OutputFormat, ReportArgs};

pub(crate) use agents::{HookArgs, InstallArgs, McpArgs};
pub(crate) use attest::AttestCommand;
pub(crate) use audit::AuditArgs;
pub(crate) use dashboard::{StatsArgs, UiArgs};
pub(crate) use errors::render_error;
pub(crate) use fleet::{
    CancelArgs, DeliverTo, RetryArgs, SubmitArgs, WatchArgs, WorkerArgs, WorkersArgs,
};
pub(crate) use hub::{HubCommand, ServeArgs};
pub(crate) use hub_objects::{ObjectStoreArgs, S3Addressing};
pub(crate) use hub_oidc::OidcArgs;
pub(crate) use known_failures::{KnownArgs, KnownFailuresArgs};
pub(crate) use projects::{LimitArg, ProjectSettingsArgs, ProjectsArgs, ProjectsCommand};
pub(crate) use review::ReviewArgs;
pub(crate) use run::{BudgetArgs, RunArgs};
pub(crate) use schedules::{SchedulesArgs, SchedulesCommand};
pub(crate) use tokens::{ScopeArg, TokensArgs, TokensCommand};
pub(crate) use webhooks::{WebhookEventArg, WebhookFormatArg, WebhooksArgs, WebhooksCommand};

/// Why a command line was not parsed.
#[derive(Debug)]
pub(crate) enum ParseError {
    /// The parser's own error, or a request for help. The notes name the origins of options that are not flags.
    Arguments {
        /// The error.
        error: clap::Error,
        /// The notes.
        notes: Vec<String>,
    },
    /// Invalid settings of a server.
    Settings(CliError),
}

/// Parses the command line; `hub` and `worker` also take options from a file and from the environment.
pub(crate) fn parse(args: &[OsString]) -> Result<Cli, ParseError> {
    let command = values::allow_negative_numbers(help::group_commands(Cli::command()));
    // Not the current environment, from which secrets have been removed: the URL of a database may contain one.
    let environment: Vec<_> = host_env().into_iter().collect();
    let completed =
        server_settings::complete(&command, args, &environment).map_err(ParseError::Settings)?;
    let (args, settings) = match completed {
        Some(completed) => (completed.args, completed.settings),
        None => (args.to_vec(), Vec::new()),
    };
    let parsed = command
        .try_get_matches_from(&args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let mut cli = parsed.map_err(|mut error| {
        errors::suggest_quotes(&mut error, &args);
        ParseError::Arguments {
            notes: server_settings::origins_in(&error.to_string(), &settings),
            error,
        }
    })?;
    match &mut cli.command {
        CliCommand::Hub(args) => args.config.settings = settings,
        CliCommand::Worker(args) => args.config.settings = settings,
        _ => {}
    }
    Ok(cli)
}

/// Runs a coding agent, verifies its work with independent checks, and retries with a short digest of
/// the failures.
///
/// A run ends as `verified`, or with the exact reason why not. An agent's own claim that it is done
/// does not count.
#[derive(Debug, Parser)]
#[command(name = "selvedge", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const AFTER_HELP: &str = "\
Getting started:
  selvedge demo                               show a run in a sample repository, without a model
  selvedge init                               detect this repository's checks, write selvedge.toml
  selvedge run \"fix the flaky login test\"     run the agent until the checks pass

Exit codes of `run`, `resume`, `demo` and `verify`:
  0 verified, or reported as unchecked     5 turn limit      9 infrastructure error
  1 checks still fail                      6 budget         10 cancelled
  2 usage or configuration error           7 needs review   11 unchanged: passes, no file changed
  3 agent failed, or reports it cannot     8 tampered       130, 143 interrupted: `selvedge resume`
  4 time limit                             (0 becomes 9 if the output cannot be written)";

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run an agent on a task until independent checks pass.
    Run(Box<RunArgs>),
    /// Show a complete run in a small sample repository.
    Demo(DemoArgs),
    /// Detect this repository's checks and write `selvedge.toml`.
    ///
    /// Each check runs once.
    Init(InitArgs),
    /// Report what is installed, what works, and what is enforced.
    Doctor(DoctorArgs),
    /// Run the checks once on existing changes, without an agent.
    Verify(VerifyArgs),
    /// List the tests that fail now, as known failures.
    ///
    /// The list is for `selvedge.toml`, or for a file that it names.
    KnownFailures(KnownFailuresArgs),
    /// Condense a tool's output from standard input to its failures.
    ///
    /// For example: `cargo test 2>&1 | selvedge digest`.
    Digest(DigestArgs),
    /// List runs, newest first.
    List(ListArgs),
    /// Show the details of a run.
    Show(ShowArgs),
    /// Show retry statistics and costs.
    ///
    /// Counts runs verified at the first attempt, recovered by a retry, or not verified.
    Stats(StatsArgs),
    /// Serve a dashboard of the runs on this machine.
    ///
    /// It is accessible with the printed link.
    Ui(UiArgs),
    /// Resume an interrupted run.
    Resume(ResumeArgs),
    /// Restore the files after an attempt, or before the run.
    Restore(RestoreArgs),
    /// Accept or reject work that is awaiting review.
    Review(ReviewArgs),
    /// Submit a task to a hub.
    Submit(Box<SubmitArgs>),
    /// Follow a hub's task until it ends.
    Watch(WatchArgs),
    /// Cancel a hub's task permanently.
    Cancel(CancelArgs),
    /// Submit a hub's finished task again as a new task.
    Retry(RetryArgs),
    /// List a hub's workers.
    Workers(WorkersArgs),
    /// Manage a hub's projects: their repositories and limits.
    Projects(ProjectsArgs),
    /// Manage a hub's tokens and sessions.
    Tokens(TokensArgs),
    /// Show a hub's audit log: who did what.
    Audit(AuditArgs),
    /// List, pause, resume and remove a hub's schedules.
    Schedules(SchedulesArgs),
    /// Manage a hub's webhooks, and list their deliveries.
    Webhooks(WebhooksArgs),
    /// Run tasks for a hub.
    Worker(Box<WorkerArgs>),
    /// Generate keys for attestations, and verify attestations.
    #[command(subcommand, after_help = attest::ABOUT)]
    Attest(AttestCommand),
    /// Set up the stop gate, tools and a skill in your own agent.
    ///
    /// Writes files of its own and entries in the agent's settings; the rest of the settings is not touched. Running
    /// it again changes nothing. Then start the agent as usual.
    #[command(after_help = agents::ABOUT_INSTALL)]
    Install(InstallArgs),
    /// Remove what `selvedge install` set up.
    ///
    /// Removes only entries and files of Selvedge. A file of its own that was changed since is kept.
    #[command(after_help = agents::ABOUT_UNINSTALL)]
    Uninstall(InstallArgs),
    /// Answer the hooks of an agent that you started: its stop gate.
    ///
    /// The agent may finish only once the project's checks pass. `selvedge install` sets the hooks up. Reads an event
    /// of the agent's session from standard input. At the session's start, and at each prompt after verified work,
    /// records the files from which the work begins, and runs the checks on them in the background. When the agent
    /// wants to stop, runs the checks, also with the original tests if tests were changed; while they fail, the agent
    /// has to continue and gets a digest of the failures.
    Hook(HookArgs),
    /// Run a tool server for agents (Model Context Protocol).
    ///
    /// It uses standard input and output.
    Mcp(McpArgs),
    /// Remove unused clones, copies, snapshots and caches.
    Gc(GcArgs),
    /// Run a hub, which queues the tasks of a team for workers.
    ///
    /// It is a server, and keeps the history of the tasks.
    Hub(Box<ServeArgs>),
    /// Show the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write those of all commands.
    Man(ManArgs),
}

/// `selvedge man`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge man run | man -l -                          the page of one command
  selvedge man --dir ~/.local/share/man/man1           selvedge.1, selvedge-run.1, ...")]
pub(crate) struct ManArgs {
    /// Command whose page is printed [default: the page of selvedge].
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this directory; it is created if it is missing.
    #[arg(long, value_name = "PATH", conflicts_with = "command", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// `selvedge demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Use this agent instead of the scripted one.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Directory for the sample repository [default: a new temporary directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Output format; `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge init`
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Directory of the repository [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Overwrite an existing `selvedge.toml`.
    #[arg(long)]
    pub(crate) force: bool,
    /// Write the detected checks without running them.
    #[arg(long)]
    pub(crate) skip_check_run: bool,
    /// Time limit for each check.
    #[arg(long, value_name = "TIME", default_value = "5m", allow_hyphen_values = true, value_parser = time)]
    pub(crate) check_timeout: HumanDuration,
    /// Print the file instead of writing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `selvedge doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory whose settings apply [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Output format; `jsonl` prints one finding per line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge verify                          run the checks of selvedge.toml once
  selvedge verify --check 'go test ./...' --format json
  selvedge verify --base origin/main --tier 2 --task 'add a dark theme'
                                           also have a model judge the changes")]
pub(crate) struct VerifyArgs {
    /// The checks.
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Compare with a revision, such as `origin/main`: the checks of its `selvedge.toml` run on it first. If tests
    /// changed since, the checks run again with the tests of the revision.
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// Test changes that the task asks for: a glob of files, or the id of a test as in reports. Repeatable. These
    /// tests run as changed, all other tests as they were.
    #[arg(long, requires = "base", value_name = "GLOB|TEST")]
    pub(crate) expect_test_changes: Vec<String>,
    /// Verification tier: 1 checks, 2 a judge, 3 a vote of judges; judges see the changes since REV [default: 1].
    #[arg(
        long,
        value_name = "N",
        value_parser = whole_number::<u8>(1..=3, 2),
        requires_if("2", "base"),
        requires_if("3", "base")
    )]
    pub(crate) tier: Option<u8>,
    /// Tests that may fail.
    #[command(flatten)]
    pub(crate) known: KnownArgs,
    /// Description of the task, for judges.
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Configured agent that judges. Repeatable.
    #[arg(long = "judge", value_name = "NAME")]
    pub(crate) judges: Vec<String>,
    /// Maximum cost of judges.
    #[arg(long, value_name = "USD", value_parser = usd_amount)]
    pub(crate) max_cost: Option<f64>,
    /// Directory to work in [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Output format; `json` prints the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Reports to write.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

/// `selvedge digest`
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// Command that printed the output; its output begins after a line that repeats the command.
    #[arg(long, value_name = "CMD")]
    pub(crate) cmd: Option<String>,
    /// Output of the last passing run; lines that it also contains are not failures.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) passing_output: Option<PathBuf>,
    /// Exit code of the command. Without it, the digest never reports success.
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) exit: Option<String>,
    /// Maximum length of the digest, in tokens (o200k).
    #[arg(long, value_name = "N", default_value_t = selvedge_digest::DEFAULT_BUDGET_TOKENS, value_parser = whole_number::<usize>(AT_LEAST_ONE, 1_000))]
    pub(crate) tokens: usize,
    /// Output format; `json` and `jsonl` print the findings as one object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge gc`
#[derive(Debug, Args)]
#[command(after_help = "\
Removes clones (run --isolated, --repo) and copies (run --best-of) of verified runs, snapshots of \
missing directories, verification rooms of ended runs (the files of a workspace's last one after \
seven days), cached baselines older than 30 days, and caches of agents that were unused for 30 days \
or exceed 10 GB in total. Journals, prompts and outputs of runs are kept. `selvedge doctor` shows \
how much space each takes.")]
pub(crate) struct GcArgs {
    /// Also remove clones and copies of runs that are not verified; their work is lost unless it is on a branch.
    #[arg(long)]
    pub(crate) failed: bool,
    /// Show what would be removed, without removing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Output format; `json` and `jsonl` print one object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs in this directory.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Only runs that have not ended.
    #[arg(long)]
    pub(crate) open: bool,
    /// Maximum number of runs.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number::<usize>(AT_LEAST_ONE, 20))]
    pub(crate) limit: usize,
    /// Output format; `jsonl` prints one run per line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub whose tasks to use instead of the runs of this machine.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge show last                              details of the newest run
  selvedge show 4f2a9c1e --attempt 2 --prompt     prompt of the second attempt
  selvedge show 4f2a9c1e --attempt 1 --check 2    complete output of a check
  selvedge show 4f2a9c1e --attempt 1 --transcript complete output of the agent")]
pub(crate) struct ShowArgs {
    /// Run id, at least four digits of its beginning or end, or `last` for the newest run on this machine [default:
    /// the newest run of this directory, or else of this machine]. With --hub, the newest task is the default.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Show only this attempt.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(AT_LEAST_ONE, 2))]
    pub(crate) attempt: Option<u32>,
    /// Print the changes as a unified diff: of one attempt with --attempt, otherwise of the whole run.
    #[arg(long, conflicts_with_all = ["check", "transcript"])]
    pub(crate) diff: bool,
    /// Print the complete prompt of each attempt.
    #[arg(long)]
    pub(crate) prompt: bool,
    /// Print the complete output of this check, numbered from 1. Needs --attempt if the run has several.
    #[arg(long, value_name = "K", conflicts_with = "transcript", value_parser = whole_number::<usize>(AT_LEAST_ONE, 1))]
    pub(crate) check: Option<usize>,
    /// Print the complete output of the agent. Needs --attempt if the run has several.
    #[arg(long)]
    pub(crate) transcript: bool,
    /// Output format; `jsonl` prints the events.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Reports to write.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
    /// Hub whose tasks to use instead of the runs of this machine.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// `selvedge resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Run id, at least four digits of its beginning or end, or `last` for the newest run on this machine [default:
    /// the newest run of this directory].
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Output format; `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Reports to write.
    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

/// `selvedge restore`
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("files").args(["attempt", "original", "tree"]).required(true)),
    after_help = "Takes a snapshot of the current files first, and prints the command that restores them."
)]
pub(crate) struct RestoreArgs {
    /// Run id, at least four digits of its beginning or end, or `last` for the newest run on this machine [default:
    /// the newest run of this directory].
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Restore the files after this attempt.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(AT_LEAST_ONE, 2))]
    pub(crate) attempt: Option<u32>,
    /// Restore the files from which the run began.
    #[arg(long)]
    pub(crate) original: bool,
    /// Restore this snapshot of the workspace, such as the files that an earlier restore replaced.
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<TreeId>,
}

/// `selvedge config`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective settings and their origins.
    Show {
        /// Directory whose settings are shown [default: current directory].
        #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// Output format; `json` and `jsonl` print one object.
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// Print the default settings, with a description of every key.
    Default,
}
