//! Sets up an agent's program for Selvedge: the stop gate, the tool server and a skill. What is written can be removed
//! again exactly: whole files of Selvedge's own, and entries in the agent's settings, whose other bytes stay as they
//! are.

mod items;
mod settings_file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::CliError;
use crate::output::file;

pub(crate) use items::{AgentDirectories, InstallScope, install_items};

/// A part of an installation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InstallItem {
    /// A file of Selvedge's own.
    OwnFile { path: PathBuf, contents: String },
    /// Entries in a settings file.
    Settings {
        path: PathBuf,
        entries: Vec<settings_file::SettingsEntry>,
    },
    /// Commands of the agent's program, which copies the files before and keeps its own records.
    Commands {
        /// The agent's settings, and a line in them that shows that the commands have run.
        record: PathBuf,
        recorded_line: &'static str,
        install: Vec<Vec<String>>,
        uninstall: Vec<Vec<String>>,
    },
}

/// A change of a file, or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstallChange {
    Write {
        path: PathBuf,
        contents: String,
    },
    Remove {
        path: PathBuf,
    },
    Run {
        argv: Vec<String>,
    },
    /// A file that Selvedge wrote was changed since, so it is kept.
    Keep {
        path: PathBuf,
    },
}

/// The changes that install the items; none for what is installed already.
pub(crate) fn plan_install(items: &[InstallItem]) -> Result<Vec<InstallChange>, CliError> {
    let mut changes = Vec::new();
    for item in items {
        match item {
            InstallItem::OwnFile { path, contents } => {
                if read(path)?.as_deref() != Some(contents) {
                    let (path, contents) = (path.clone(), contents.clone());
                    changes.push(InstallChange::Write { path, contents });
                }
            }
            InstallItem::Settings { path, entries } => {
                let before = read(path)?;
                let after = settings_file::add(before.as_deref().unwrap_or_default(), entries)
                    .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
                if before.as_deref() != Some(&after) {
                    let (path, contents) = (path.clone(), after);
                    changes.push(InstallChange::Write { path, contents });
                }
            }
            InstallItem::Commands {
                record,
                recorded_line,
                install,
                ..
            } => {
                if changes.is_empty() && is_recorded(record, recorded_line)? {
                    continue;
                }
                changes.extend(
                    install
                        .iter()
                        .cloned()
                        .map(|argv| InstallChange::Run { argv }),
                );
            }
        }
    }
    Ok(changes)
}

/// The changes that remove the items.
pub(crate) fn plan_uninstall(items: &[InstallItem]) -> Result<Vec<InstallChange>, CliError> {
    let mut changes = Vec::new();
    // The agent's program may still need the files that it was installed from.
    for item in items.iter().rev() {
        match item {
            InstallItem::OwnFile { path, contents } => {
                let path = path.clone();
                match read(&path)? {
                    None => {}
                    Some(found) if is_ours(&found, contents) => {
                        changes.push(InstallChange::Remove { path });
                    }
                    Some(_) => changes.push(InstallChange::Keep { path }),
                }
            }
            InstallItem::Settings { path, entries } => {
                let Some(before) = read(path)? else { continue };
                let after = settings_file::remove(&before, entries)
                    .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
                match after {
                    None => changes.push(InstallChange::Remove { path: path.clone() }),
                    Some(contents) if contents != before => {
                        let path = path.clone();
                        changes.push(InstallChange::Write { path, contents });
                    }
                    Some(_) => {}
                }
            }
            InstallItem::Commands {
                record,
                recorded_line,
                uninstall,
                ..
            } => {
                if !is_recorded(record, recorded_line)? {
                    continue;
                }
                changes.extend(
                    uninstall
                        .iter()
                        .cloned()
                        .map(|argv| InstallChange::Run { argv }),
                );
            }
        }
    }
    Ok(changes)
}

fn is_recorded(record: &Path, line: &str) -> Result<bool, CliError> {
    let text = read(record)?.unwrap_or_default();
    Ok(text.lines().any(|it| it.trim() == line))
}

/// Whether a file is as it was written: by this program, or by one at another path or of another version, whose lines
/// differ only where they name the program.
fn is_ours(found: &str, written: &str) -> bool {
    let names = |line: &str| line.contains("selvedge");
    let same = |(one, other): (&str, &str)| one == other || (names(one) && names(other));
    found.lines().count() == written.lines().count() && found.lines().zip(written.lines()).all(same)
}

/// Carries out a change. `stop_at` is the directory whose subdirectories are removed if they become empty.
pub(crate) fn apply(change: &InstallChange, stop_at: &Path) -> Result<(), CliError> {
    let failed = |path: &Path, error: io::Error| {
        CliError::infrastructure(format!("cannot change {}: {error}", path.display()))
    };
    match change {
        InstallChange::Write { path, contents } => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|error| failed(path, error))?;
            }
            file::replace(path, contents.as_bytes()).map_err(|error| failed(path, error))
        }
        InstallChange::Remove { path } => {
            fs::remove_file(path).map_err(|error| failed(path, error))?;
            let below = path.ancestors().skip(1);
            for folder in below.take_while(|it| *it != stop_at && it.starts_with(stop_at)) {
                // It is not empty.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(())
        }
        InstallChange::Run { argv } => run(argv),
        InstallChange::Keep { .. } => Ok(()),
    }
}

fn run(argv: &[String]) -> Result<(), CliError> {
    let (Some(program), arguments) = (argv.first(), argv.get(1..).unwrap_or_default()) else {
        return Ok(());
    };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            CliError::usage(format!("cannot run `{program}`: {error}"))
                .hint(format!("install `{program}`, or leave out --user"))
        })?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    let reason = crate::terminal::one_line(printed.trim(), 300);
    Err(CliError::infrastructure(format!(
        "`{}` failed: {reason}",
        argv.join(" ")
    )))
}

fn read(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            path.display()
        ))),
    }
}
