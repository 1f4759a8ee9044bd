//! The commands, one file each. A command reads its arguments and the environment, calls the other modules, and reports
//! the result; it returns the process exit code.

mod attest;
mod base_comparison;
mod config;
mod demo;
mod digest;
mod doctor;
mod fleet;
mod gc;
mod hook;
mod hub;
mod hub_objects;
mod hub_oidc;
mod hub_recovery;
mod init;
mod install;
mod isolated_clone;
mod known_failures;
mod list;
mod man;
mod mcp;
mod restore;
mod resume;
mod review;
mod run;
mod run_checks;
mod show;
mod standalone_judging;
mod stats;
mod task_file;
mod token_file;
mod ui;
mod verify;

use std::path::{Path, PathBuf};

use selvedge_core::config::Diagnostic;
use selvedge_core::model::RunId;
use selvedge_store::SqliteJournal;

use crate::cli::CliCommand;
use crate::error::CliError;
use crate::local::{StateDir, WorkspaceRuns};
use crate::output::{OutputFormat, OutputOptions, ReportArgs, ReportOutputs, print_notice};
use crate::settings::{
    self, DiagnosticSeverity, LoadedSettings, SettingsError, diagnostic_error, environment,
    print_diagnostic,
};

pub(crate) fn run(command: CliCommand) -> Result<u8, CliError> {
    match command {
        CliCommand::Run(args) => run::run(&args),
        CliCommand::Demo(args) => demo::run(&args),
        CliCommand::Init(args) => init::run(&args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Verify(args) => verify::run(&args),
        CliCommand::KnownFailures(args) => known_failures::run(&args),
        CliCommand::Digest(args) => digest::run(&args),
        CliCommand::List(args) => list::run(&args),
        CliCommand::Show(args) => show::run(&args),
        CliCommand::Stats(args) => stats::run(&args),
        CliCommand::Ui(args) => ui::run(&args),
        CliCommand::Resume(args) => resume::run(&args),
        CliCommand::Restore(args) => restore::run(&args),
        CliCommand::Review(args) => review::run(&args),
        CliCommand::Gc(args) => gc::run(&args),
        CliCommand::Submit(args) => fleet::submit(&args),
        CliCommand::Watch(args) => fleet::watch(&args),
        CliCommand::Cancel(args) => fleet::cancel(&args),
        CliCommand::Retry(args) => fleet::retry(&args),
        CliCommand::Workers(args) => fleet::workers(&args),
        CliCommand::Projects(args) => fleet::projects(&args),
        CliCommand::Tokens(args) => fleet::tokens(&args),
        CliCommand::Audit(args) => fleet::audit(&args),
        CliCommand::Schedules(args) => fleet::schedules(&args),
        CliCommand::Webhooks(args) => fleet::webhooks(&args),
        CliCommand::Worker(args) => fleet::worker(*args),
        CliCommand::Config(command) => config::run(&command),
        CliCommand::Attest(command) => attest::run(&command),
        CliCommand::Hook(args) => Ok(hook::run(&args)),
        CliCommand::Install(args) => install::install(&args),
        CliCommand::Uninstall(args) => install::uninstall(&args),
        CliCommand::Hub(args) => hub::run_hub(&args),
        CliCommand::Mcp(args) => mcp::run(&args),
        CliCommand::Completions { shell } => Ok(man::completions(shell)),
        CliCommand::Man(args) => man::run(&args),
    }
}

/// The output options of a command. Fails if an output cannot be written.
fn output_options(
    format: OutputFormat,
    reports: &ReportArgs,
    environment: &[(String, String)],
) -> Result<OutputOptions, CliError> {
    Ok(OutputOptions {
        format,
        reports: ReportOutputs::prepare(reports, format, environment)?,
    })
}

/// The canonical path of the directory that a command works in.
fn canonical_directory(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = named.unwrap_or(Path::new("."));
    let canonical = path
        .canonicalize()
        .map_err(|error| CliError::usage(format!("cannot work in {}: {error}", path.display())))?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(CliError::usage(format!(
            "{} is not a directory",
            path.display()
        )))
    }
}

/// The run that a command refers to: the named one, or the latest of this directory.
fn resolve_run(
    home: &StateDir,
    journal: &SqliteJournal,
    name: Option<&str>,
) -> Result<RunId, CliError> {
    match name {
        Some(name) => home.find_run(journal, name),
        None => Ok(workspace_runs(home, journal)?.latest()?.run_id),
    }
}

fn workspace_runs(home: &StateDir, journal: &SqliteJournal) -> Result<WorkspaceRuns, CliError> {
    WorkspaceRuns::find(home, journal, &canonical_directory(None)?)
}

/// Loads the effective settings, and prints their warnings.
fn load_settings(
    dir: &Path,
    flags: &selvedge_core::config::Flags,
    environment: &[(String, String)],
) -> Result<LoadedSettings, CliError> {
    let print_warnings = |warnings: &[Diagnostic]| {
        for warning in warnings {
            print_diagnostic(warning, DiagnosticSeverity::Warning);
        }
    };
    let settings = settings::load(dir, flags, environment).map_err(|error| match error {
        SettingsError::Invalid(error) => {
            print_warnings(&error.warnings);
            diagnostic_error(&error.diagnostic)
        }
        error @ SettingsError::Unreadable { .. } => CliError::usage(error),
    })?;
    print_warnings(&settings.resolved.warnings);
    Ok(settings)
}

/// The directory with the repository's settings, or else `dir`. Prints a notice if they differ.
fn working_directory(settings: &LoadedSettings, dir: &Path) -> PathBuf {
    let root = settings.root(dir);
    if root != dir {
        print_notice(&format!(
            "using directory {}, which has a selvedge.toml",
            root.display()
        ));
    }
    root.to_owned()
}
