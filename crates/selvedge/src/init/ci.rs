//! The commands that a project's CI and git hooks run: GitHub Actions, GitLab, CircleCI, lefthook, husky, pre-commit.
//!
//! Commands that are not understood are listed instead of proposed.

mod purpose;
mod steps;

use std::collections::BTreeSet;

pub(in crate::init) use self::purpose::{PACKAGE_MANAGERS, program_words};
use self::purpose::{Purpose, command_purpose, file_name, is_preparation, with_program_of};
use self::steps::{StepKeys, read_steps, script_commands};
use super::files::{RepositoryDirectory, RepositoryFiles};
use super::proposal::{CheckRole, Proposal};

/// Characters of commands that start other programs, write files, or contain variables of CI.
const SHELL_SYNTAX: [char; 7] = [';', '&', '|', '<', '>', '`', '$'];

/// A command that CI or a git hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CiCommand {
    pub(crate) run: String,
    /// The directory that it runs in, relative to the root, as the file names it; `None` for the root.
    pub(crate) directory: Option<String>,
    /// The file that contains it, relative to the root.
    pub(crate) found_in: String,
}

/// Whether the file, by its path relative to the root, contains commands of CI or of git hooks.
pub(super) fn is_ci_file(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    let is_workflow =
        path.starts_with(".github/workflows/") && matches!(extension, Some("yml" | "yaml"));
    is_workflow
        || matches!(
            path,
            ".gitlab-ci.yml"
                | ".circleci/config.yml"
                | "lefthook.yml"
                | ".lefthook.yml"
                | ".husky/pre-commit"
                | ".husky/pre-push"
        )
}

/// Adopts the commands of CI: replaces the arguments of proposals for the same tool, adds the others that are checks.
/// Returns the commands that are neither checks here nor preparations.
pub(super) fn adopt(files: &RepositoryFiles, proposals: &mut Vec<Proposal>) -> Vec<CiCommand> {
    let root = files.directory("");
    let commands = ci_commands(&root);
    let mut uncovered = Vec::new();
    // If CI runs a guessed command, no other command of CI replaces it.
    let mut adopted: Vec<(Purpose, Option<String>)> = Vec::new();
    for proposal in proposals.iter_mut() {
        if prefer_command_of_ci(proposal, &commands) {
            proposal.is_guess = false;
            let directory = proposal.step.directory.clone();
            adopted.extend(command_purpose(&proposal.step.target).map(|it| (it, directory)));
        }
    }
    for command in commands {
        if is_preparation(&command.run) || is_proposed(&command, proposals) {
            continue;
        }
        let purpose = command_purpose(&command.run).filter(|_| is_portable(&command, &root));
        let Some(purpose) = purpose else {
            uncovered.push(command);
            continue;
        };
        let same_tool = proposals.iter_mut().find(|proposal| {
            proposal.step.directory == command.directory
                && command_purpose(&proposal.step.target).as_ref() == Some(&purpose)
        });
        let key = (purpose, command.directory.clone());
        let (purpose, at) = (
            &key.0,
            files.directory(key.1.as_deref().unwrap_or_default()),
        );
        let Some(proposal) = same_tool else {
            let name = unused_name(purpose, &command, proposals);
            let mut proposal =
                Proposal::new(&at, purpose.role, &name, command.run, &command.found_in);
            proposal.found_in = command.found_in;
            proposals.push(proposal);
            adopted.push(key);
            continue;
        };
        match with_program_of(&proposal.step.target, &command.run, &purpose.tool) {
            Some(run) if run == proposal.step.target => {
                proposal.is_guess = false;
                adopted.push(key);
            }
            Some(run) if !adopted.contains(&key) && !selects_tests(&run, purpose, &root) => {
                let guess = proposal.clone();
                proposal.step.target = run;
                proposal.found_in = command.found_in;
                proposal.is_guess = false;
                // CI's command may need what only CI has.
                proposal.alternatives.clear();
                let installed = installed_command(&at, &proposal.step.target, &purpose.tool);
                if let Some(command) = installed {
                    let mut installed = proposal.clone();
                    installed.step.target = command;
                    proposal.add_alternative(installed);
                }
                proposal.add_alternative(guess);
                adopted.push(key);
            }
            Some(_) | None => uncovered.push(command),
        }
    }
    if root.has(".pre-commit-config.yaml") {
        proposals.push(Proposal::new(
            &root,
            CheckRole::Lint,
            "pre-commit",
            "pre-commit run --all-files",
            ".pre-commit-config.yaml",
        ));
    }
    uncovered.retain(|command| !is_proposed(command, proposals));
    uncovered
}

/// Puts the alternative that CI runs first, unless CI also runs the proposed command. Returns whether CI runs the
/// command that is first then.
fn prefer_command_of_ci(proposal: &mut Proposal, commands: &[CiCommand]) -> bool {
    let is_run = |proposal: &Proposal| commands.iter().any(|command| is_same(command, proposal));
    if is_run(proposal) {
        return true;
    }
    let Some(index) = proposal.alternatives.iter().position(is_run) else {
        return false;
    };
    let preferred = proposal.alternatives.remove(index);
    let other = std::mem::replace(proposal, preferred);
    proposal.add_alternative(other);
    true
}

/// Whether a command runs only the tests of some paths, which are probably not all tests.
fn selects_tests(run: &str, purpose: &Purpose, root: &RepositoryDirectory<'_>) -> bool {
    if purpose.role != CheckRole::Test {
        return false;
    }
    let words = run.split_whitespace();
    let arguments = words.skip_while(|word| file_name(word) != purpose.tool);
    let is_path = |word: &str| {
        let folder = format!("{}/", word.trim_end_matches('/'));
        word.contains('/')
            || root
                .paths()
                .any(|path| path == word || path.starts_with(&folder))
    };
    let mut paths = arguments
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .filter(|word| !matches!(*word, "." | "./" | "./..."))
        .filter(|word| is_path(word))
        .peekable();
    paths.peek().is_some() && !paths.any(|path| path.contains("test") || path.contains("spec"))
}

/// The part of a command from its tool on, with the tool of the project's virtual environment, if a package manager runs
/// it: of `uv run --group dev ruff check src`, `.venv/bin/ruff check src`.
fn installed_command(root: &RepositoryDirectory<'_>, command: &str, tool: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let start = match words.as_slice() {
        ["uv" | "poetry" | "pdm" | "pipenv", "run", rest @ ..] => {
            2 + rest.iter().position(|word| *word == tool)?
        }
        _ => return None,
    };
    let program = root.installed_program(".venv/bin", tool)?;
    let arguments = words[start + 1..].iter().copied();
    let words: Vec<&str> = std::iter::once(program.as_str()).chain(arguments).collect();
    Some(words.join(" "))
}

/// The commands, each once.
fn ci_commands(root: &RepositoryDirectory<'_>) -> Vec<CiCommand> {
    let files = root.paths().filter(|path| is_ci_file(path));
    let commands = files.flat_map(|path| {
        let text = root.text_or_empty(path);
        let (script, directory): (&[&str], _) = match path {
            ".husky/pre-commit" | ".husky/pre-push" => (&[], ""),
            ".gitlab-ci.yml" => (&["script"], ""),
            ".circleci/config.yml" => (&["run", "command"], "working_directory"),
            "lefthook.yml" | ".lefthook.yml" => (&["run"], "root"),
            _ => (&["run"], "working-directory"),
        };
        let steps = match script {
            [] => vec![(text.to_owned(), None)],
            script => {
                let steps = read_steps(text, &StepKeys { script, directory }).into_iter();
                steps.map(|step| (step.script, step.directory)).collect()
            }
        };
        steps.into_iter().flat_map(move |(script, directory)| {
            let directory = directory.as_deref().and_then(plain_directory);
            let commands = script_commands(&script).into_iter();
            commands.map(move |run| CiCommand {
                run,
                directory: directory.clone(),
                found_in: path.to_owned(),
            })
        })
    });
    let mut commands: Vec<_> = commands.collect();
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert((command.run.clone(), command.directory.clone())));
    commands
}

/// A normalized directory, without `.` and `./`; `None` for the checkout.
fn plain_directory(directory: &str) -> Option<String> {
    let directory = directory.trim_start_matches("./").trim_end_matches('/');
    (!matches!(directory, "" | ".")).then(|| directory.to_owned())
}

fn unused_name(purpose: &Purpose, command: &CiCommand, proposals: &[Proposal]) -> String {
    let name = if purpose.role == CheckRole::Test {
        "tests"
    } else {
        &purpose.tool
    };
    let label = match &command.directory {
        Some(directory) => format!("{directory}: {name}"),
        None => name.to_owned(),
    };
    let mut labels = proposals.iter().map(|proposal| proposal.step.label());
    let name = if labels.any(|other| other == label) {
        &command.run
    } else {
        name
    };
    name.to_owned()
}

fn is_same(command: &CiCommand, proposal: &Proposal) -> bool {
    proposal.step.target == command.run && proposal.step.directory == command.directory
}

fn is_proposed(command: &CiCommand, proposals: &[Proposal]) -> bool {
    let mut proposals = proposals.iter();
    proposals.any(|proposal| is_same(command, proposal))
}

/// Whether a command is a single call of a program that also works outside of CI, in a directory of the repository.
fn is_portable(command: &CiCommand, root: &RepositoryDirectory<'_>) -> bool {
    let is_foreign = ["{staged_files}", "{push_files}"]
        .iter()
        .any(|variable| command.run.contains(variable));
    let is_in_repository = command.directory.as_ref().is_none_or(|directory| {
        let below = format!("{directory}/");
        root.paths().any(|path| path.starts_with(&below))
    });
    is_in_repository && !is_foreign && !command.run.contains(SHELL_SYNTAX)
}

/// Renders the commands that no check covers as a comment of the settings file.
pub(crate) fn uncovered_comment(uncovered: &[CiCommand]) -> String {
    if uncovered.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = uncovered
        .iter()
        .map(|command| {
            let directory = command.directory.as_ref();
            let place = match directory {
                Some(directory) => format!("in {directory}, {}", command.found_in),
                None => command.found_in.clone(),
            };
            let line = format!("#   {} ({place})", command.run);
            line.replace(char::is_control, " ") + "\n"
        })
        .collect();
    format!(
        "\n# CI also runs these commands, which no check above covers:\n{}",
        lines.concat()
    )
}
