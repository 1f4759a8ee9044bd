//! The commands, one file each. A command reads its arguments and the world, has the other rooms
//! do the work, and says how it went; its return value is the process exit code.

mod asked;
mod attest;
mod config;
mod demo;
mod digest;
mod doctor;
mod fleet;
mod gc;
mod hook;
mod hub;
mod init;
mod known;
mod list;
mod man;
mod mcp;
mod once;
mod own;
mod restore;
mod resume;
mod review;
mod run;
mod show;
mod since;
mod stats;
mod task_file;
mod ui;
mod verify;

use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_store::SqliteJournal;

use crate::cli::{Command, ReportArgs};
use crate::error::CliError;
use crate::local::{Home, WorkspaceRuns};
use crate::output::{Format, Output, Reports, style};
use crate::settings::{self, Settings, SettingsError, Severity, environment};

/// Carries out a command.
pub(crate) fn run(command: Command) -> Result<u8, CliError> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::KnownFailures(args) => known::run(&args),
        Command::Digest(args) => digest::run(&args),
        Command::List(args) => list::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Ui(args) => ui::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Review(args) => review::run(&args),
        Command::Gc(args) => gc::run(&args),
        Command::Submit(args) => fleet::submit(&args),
        Command::Watch(args) => fleet::watch(&args),
        Command::Cancel(args) => fleet::cancel(&args),
        Command::Retry(args) => fleet::retry(&args),
        Command::Workers(args) => fleet::workers(&args),
        Command::Tokens(args) => fleet::tokens(&args),
        Command::Worker(args) => fleet::worker(args),
        Command::Config(command) => config::run(&command),
        Command::Attest(command) => attest::run(&command),
        Command::Hook(command) => Ok(hook::run(&command)),
        Command::Hub(args) => hub::run_hub(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Completions { shell } => Ok(man::completions(shell)),
        Command::Man => man::page(),
    }
}

/// All that the command says, refused where it could not be said.
fn output(
    format: Format,
    reports: &ReportArgs,
    environment: &[(String, String)],
) -> Result<Output, CliError> {
    Ok(Output {
        format,
        reports: Reports::prepare(reports, format, environment)?,
    })
}

/// The directory that a command works in, canonical.
fn directory(named: Option<&Path>) -> Result<PathBuf, CliError> {
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

/// The run that a command means: the named one, or else the latest of this directory.
fn run_meant(home: &Home, journal: &SqliteJournal, name: Option<&str>) -> Result<RunId, CliError> {
    match name {
        Some(name) => home.find_run(journal, name),
        None => Ok(runs_here(home, journal)?.latest()?.run_id),
    }
}

/// The runs of this directory.
fn runs_here(home: &Home, journal: &SqliteJournal) -> Result<WorkspaceRuns, CliError> {
    WorkspaceRuns::find(home, journal, &directory(None)?)
}

/// The settings in force, with their warnings said.
fn settings(
    dir: &Path,
    flags: &selvedge_core::config::Flags,
    environment: &[(String, String)],
) -> Result<Settings, CliError> {
    let styled = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let settings = settings::load(dir, flags, environment).map_err(|error| match error {
        SettingsError::Invalid(error) => {
            CliError::rendered(settings::render(&error.0, Severity::Error, styled))
        }
        error @ SettingsError::Unreadable { .. } => CliError::usage(error),
    })?;
    for warning in &settings.resolved.warnings {
        errln!("{}", settings::render(warning, Severity::Warning, styled));
    }
    Ok(settings)
}

/// The directory of the work: where the repository's settings are, said when that is elsewhere.
fn workspace(settings: &Settings, dir: &Path) -> PathBuf {
    let root = settings.root(dir);
    if root != dir {
        notice(&format!(
            "working in {}, where selvedge.toml is",
            root.display()
        ));
    }
    root.to_owned()
}

/// Something that the person should know before it begins.
pub(crate) fn notice(text: &str) {
    errln!("{} {text}", style::warning("note:"));
}
