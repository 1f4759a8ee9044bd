//! The commands that a project's CI and git hooks run: GitHub Actions, GitLab, CircleCI, Travis, Azure and Bitbucket
//! Pipelines, lefthook, husky, pre-commit.
//!
//! Commands that are not understood are listed instead of proposed.

mod purpose;
mod script;
mod steps;

use std::collections::BTreeSet;

pub(in crate::init) use self::purpose::{PACKAGE_MANAGERS, program_words};
use self::purpose::{Purpose, command_purpose, file_name, only_prepares, with_program_of};
use self::script::{join_directories, script_commands};
use self::steps::{CiStep, StepKeys, Variables, read_steps};
use super::files::{RepositoryDirectory, RepositoryFiles};
use super::proposal::{CheckRole, Proposal};
use super::trial::TriedProposal;

/// Characters of commands that start other programs, write files, or contain variables of CI.
const SHELL_SYNTAX: [char; 8] = [';', '&', '|', '<', '>', '`', '$', '\n'];

const TRAVIS: &str = ".travis.yml";

/// Limits for the commands that are listed.
const MAX_LISTED: usize = 50;
const MAX_LISTED_CHARS: usize = 200;

/// A command that CI or a git hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CiCommand {
    pub(crate) run: String,
    /// The directory that it runs in, relative to the root, as the file names it; `None` for the root.
    pub(crate) directory: Option<String>,
    /// The file that contains it, relative to the root.
    pub(crate) found_in: String,
    /// Whether a condition or a loop of its script decides whether it runs.
    is_conditional: bool,
    variables: Variables,
    /// The commands of proposals that run this one, too.
    pub(super) contained_in: Vec<String>,
}

/// What CI checks and no proposal does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UncoveredCi {
    pub(crate) commands: Vec<CiCommand>,
    pub(crate) unreadable_files: Vec<UnreadableFile>,
}

impl UncoveredCi {
    /// Leaves out what active checks run, too.
    pub(crate) fn without_contained(mut self, tried: &[TriedProposal]) -> Self {
        let active: Vec<&str> = tried
            .iter()
            .filter(|it| it.is_active())
            .map(|it| it.proposal.step.target.as_str())
            .collect();
        let is_active = |command: &String| active.contains(&command.as_str());
        self.commands
            .retain(|command| !command.contained_in.iter().any(is_active));
        self
    }
}

/// A file of CI that is not valid YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableFile {
    /// Relative to the root.
    pub(crate) path: String,
    /// The error of the parser, with the line.
    pub(crate) problem: String,
}

/// How a file of CI or of git hooks contains commands.
enum CiFormat {
    Script,
    Yaml(StepKeys),
}

impl CiFormat {
    /// The format of a file, by its path relative to the root; `None` if it is another file.
    fn of(path: &str) -> Option<Self> {
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        let is_workflow =
            path.starts_with(".github/workflows/") && matches!(extension, Some("yml" | "yaml"));
        let (script, directory, variables): (&[&str], _, _) = match path {
            _ if is_workflow => (&["run"], "working-directory", "env"),
            ".gitlab-ci.yml" => (&["script"], "", "variables"),
            TRAVIS | "bitbucket-pipelines.yml" => (&["script"], "", ""),
            ".circleci/config.yml" => (&["run", "command"], "working_directory", "environment"),
            "azure-pipelines.yml" | ".azure-pipelines.yml" => {
                (&["script", "bash"], "workingDirectory", "env")
            }
            "lefthook.yml" | ".lefthook.yml" => (&["run"], "root", "env"),
            ".husky/pre-commit" | ".husky/pre-push" => return Some(Self::Script),
            _ => return None,
        };
        Some(Self::Yaml(StepKeys {
            script,
            directory,
            variables,
        }))
    }
}

/// Whether the file, by its path relative to the root, contains commands of CI or of git hooks.
pub(super) fn is_ci_file(path: &str) -> bool {
    CiFormat::of(path).is_some()
}

/// Adopts the commands of CI: replaces the arguments of proposals for the same tool, adds the others that are checks.
/// Returns the commands that are neither checks here nor preparations.
pub(super) fn adopt(files: &RepositoryFiles, proposals: &mut Vec<Proposal>) -> UncoveredCi {
    let root = files.directory("");
    let (commands, unreadable_files) = ci_commands(&root);
    let variables = variables_by_purpose(&commands);
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
        if only_prepares(&command.run) || is_proposed(&command, proposals) {
            continue;
        }
        let purpose = command_purpose(&command.run);
        let is_check = purpose.is_some() || !publishes(&command.found_in);
        let Some(purpose) = purpose.filter(|_| is_portable(&command, &root)) else {
            uncovered.extend(Some(command).filter(|_| is_check));
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
        // CI has activated the environment.
        let run = at.with_virtual_environment(&command.run);
        let Some(proposal) = same_tool else {
            let name = unused_name(purpose, &command, proposals);
            let mut proposal = Proposal::new(&at, purpose.role, &name, run, &command.found_in);
            proposal.found_in = command.found_in;
            proposals.push(proposal);
            adopted.push(key);
            continue;
        };
        match with_program_of(&proposal.step.target, &run, &purpose.tool) {
            Some(run) if run == proposal.step.target => {
                proposal.is_guess = false;
                adopted.push(key);
            }
            Some(run) if !adopted.contains(&key) && !selects_tests(&run, purpose, &root) => {
                let guess = proposal.clone();
                let with_all = with_all_packages(&run, &guess.step.target, &at);
                let narrow = with_all.is_some().then(|| run.clone());
                proposal.step.target = with_all.unwrap_or(run);
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
                if let Some(run) = narrow {
                    let mut narrow = proposal.clone();
                    narrow.alternatives.clear();
                    narrow.step.target = run;
                    proposal.add_alternative(narrow);
                }
                adopted.push(key);
            }
            Some(_) | None => uncovered.push(command),
        }
    }
    for proposal in proposals.iter_mut() {
        set_variables(proposal, &variables);
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
    UncoveredCi {
        commands: uncovered,
        unreadable_files,
    }
}

/// The variables of the first command of CI for each purpose in each directory.
type VariablesByPurpose = Vec<((Purpose, Option<String>), Variables)>;

fn variables_by_purpose(commands: &[CiCommand]) -> VariablesByPurpose {
    let mut by_purpose = VariablesByPurpose::new();
    for command in commands {
        let Some(purpose) = command_purpose(&command.run) else {
            continue;
        };
        let key = (purpose, command.directory.clone());
        if by_purpose.iter().all(|(known, _)| *known != key) {
            by_purpose.push((key, command.variables.clone()));
        }
    }
    by_purpose
}

/// Adds the variables of CI to a proposal and its alternatives.
fn set_variables(proposal: &mut Proposal, by_purpose: &VariablesByPurpose) {
    for alternative in &mut proposal.alternatives {
        set_variables(alternative, by_purpose);
    }
    let Some(purpose) = command_purpose(&proposal.step.target) else {
        return;
    };
    let key = (purpose, proposal.step.directory.clone());
    let mut known = by_purpose.iter();
    let found = known.find(|(known, _)| *known == key);
    let Some((_, variables)) = found else { return };
    let assignments = variables.iter().map(|(name, value)| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "_./:@,+-=".contains(it);
        if value.chars().all(is_plain) {
            format!("{name}={value}")
        } else {
            format!("{name}='{value}'")
        }
    });
    let assignments: Vec<_> = assignments.collect();
    proposal.variables = (!assignments.is_empty()).then(|| assignments.join(" "));
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

/// Whether a command runs only some tests: those of some paths, or those that an option selects.
fn selects_tests(run: &str, purpose: &Purpose, root: &RepositoryDirectory<'_>) -> bool {
    if purpose.role != CheckRole::Test {
        return false;
    }
    let words = run.split_whitespace();
    let arguments = words.skip_while(|word| file_name(word) != purpose.tool);
    // Options by which CI splits its tests into several commands.
    let mut programs = run.split_whitespace().map(file_name);
    let program = programs.find(|word| matches!(*word, "cargo" | "go" | "pytest"));
    let selecting: &[&str] = match program.unwrap_or_default() {
        "cargo" => &[
            "--lib",
            "--bins",
            "--bin",
            "--doc",
            "--test",
            "--tests",
            "--bench",
            "--benches",
            "--example",
            "--examples",
            "-p",
            "--package",
        ],
        "pytest" => &["-k", "-m"],
        "go" => &["-run"],
        _ => &[],
    };
    if arguments.clone().any(|word| selecting.contains(&word))
        || program == Some("cargo") && filters_by_name(arguments.clone().skip(1))
    {
        return true;
    }
    let is_path = |word: &str| {
        let folder = format!("{}/", word.trim_end_matches('/'));
        word.contains('/')
            || root
                .paths()
                .any(|path| path == word || path.starts_with(&folder))
    };
    let paths = arguments
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .filter(|word| !matches!(*word, "." | "./" | "./..."))
        .filter(|word| is_path(word));
    let paths: Vec<&str> = paths.collect();
    let is_folder_of_tests =
        |path: &&str| !root.has(path) && (path.contains("test") || path.contains("spec"));
    !paths.is_empty() && !paths.iter().any(is_folder_of_tests)
}

/// A command of Cargo or Go that runs with the package at the root only, with all packages as the proposed command: CI
/// often tests the others in another way.
fn with_all_packages(run: &str, proposed: &str, at: &RepositoryDirectory<'_>) -> Option<String> {
    const ALL_IN_CARGO: [&str; 2] = ["--workspace", "--all"];
    const ALL_IN_GO: &str = "./...";
    let mut words: Vec<&str> = run.split_whitespace().collect();
    let has_program = |name: &str| words.iter().any(|word| file_name(word) == name);
    let mut wanted = proposed.split_whitespace();
    if has_program("go") && wanted.clone().any(|word| word == ALL_IN_GO) {
        let root = words.iter().position(|word| matches!(*word, "." | "./"));
        let names_packages = words.iter().any(|word| word.contains('/'));
        match root {
            Some(at) => words[at] = ALL_IN_GO,
            None if names_packages => return None,
            None => words.push(ALL_IN_GO),
        }
        return Some(words.join(" "));
    }
    let all = wanted.find(|word| ALL_IN_CARGO.contains(word))?;
    let names_all = words.iter().any(|word| ALL_IN_CARGO.contains(word));
    let has_root_package = || {
        let manifest: Option<toml::Table> = at.text("Cargo.toml")?.parse().ok();
        manifest.filter(|manifest| manifest.contains_key("package"))
    };
    if names_all || !has_program("cargo") || has_root_package().is_none() {
        return None;
    }
    let end = words.iter().position(|word| *word == "--");
    words.insert(end.unwrap_or(words.len()), all);
    Some(words.join(" "))
}

/// Whether the arguments of `cargo test` contain a part of the names of the tests to run.
fn filters_by_name<'a>(arguments: impl Iterator<Item = &'a str>) -> bool {
    const WITH_VALUE: [&str; 16] = [
        "--color",
        "--config",
        "--exclude",
        "--features",
        "--format",
        "--jobs",
        "--manifest-path",
        "--message-format",
        "--profile",
        "--skip",
        "--target",
        "--target-dir",
        "--test-threads",
        "-F",
        "-Z",
        "-j",
    ];
    let mut is_value = false;
    for word in arguments {
        if word == "--ignored" || !is_value && !word.starts_with('-') {
            return true;
        }
        is_value = WITH_VALUE.contains(&word);
    }
    false
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

/// The commands, each once, and the files that cannot be read.
fn ci_commands(root: &RepositoryDirectory<'_>) -> (Vec<CiCommand>, Vec<UnreadableFile>) {
    let mut commands = Vec::new();
    let mut unreadable = Vec::new();
    // A project that has moved to another CI often keeps the file of Travis.
    let is_replaced = root
        .paths()
        .any(|path| CiFormat::of(path).is_some() && path != TRAVIS && !path.starts_with(".husky/"));
    let files = root
        .paths()
        .filter(|path| !(is_replaced && *path == TRAVIS))
        .filter_map(|path| Some((path, CiFormat::of(path)?)));
    for (path, format) in files {
        let text = root.text_or_empty(path);
        let steps = match format {
            CiFormat::Script => Ok(vec![CiStep {
                script: text.to_owned(),
                directory: None,
                variables: Variables::new(),
            }]),
            CiFormat::Yaml(keys) => read_steps(text, &keys),
        };
        let steps = match steps {
            Ok(steps) => steps,
            Err(error) => {
                unreadable.push(UnreadableFile {
                    path: path.to_owned(),
                    problem: error.to_string(),
                });
                continue;
            }
        };
        for step in steps {
            let CiStep {
                script,
                directory,
                variables,
            } = step;
            let start = directory.unwrap_or_default();
            commands.extend(script_commands(&script).into_iter().map(|command| {
                let directory = join_directories(&start, &command.directory);
                CiCommand {
                    run: command.run,
                    directory: (!directory.is_empty()).then_some(directory),
                    found_in: path.to_owned(),
                    is_conditional: command.is_conditional,
                    variables: variables.clone(),
                    contained_in: Vec::new(),
                }
            }));
        }
    }
    // Of equal commands, one that always runs counts, and one of a workflow that does not publish.
    commands
        .sort_by_key(|command: &CiCommand| (command.is_conditional, publishes(&command.found_in)));
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert((command.run.clone(), command.directory.clone())));
    (commands, unreadable)
}

/// Whether a workflow publishes something, by its name: what only it runs is no check, unless the command is one.
fn publishes(path: &str) -> bool {
    const PUBLICATIONS: [&str; 4] = ["deploy", "publish", "release", "upload"];
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    PUBLICATIONS.iter().any(|word| name.contains(word))
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
    is_in_repository
        && !is_foreign
        && !command.is_conditional
        && !command.run.contains(SHELL_SYNTAX)
}

/// Renders what no check covers as a comment of the settings file.
pub(crate) fn uncovered_comment(uncovered: &UncoveredCi) -> String {
    let commands = uncovered.commands.iter().map(|command| {
        let directory = command.directory.as_ref();
        let directory = directory.map_or_else(String::new, |it| format!("in {it}, "));
        let condition = if command.is_conditional {
            ", if a condition holds"
        } else {
            ""
        };
        let run: String = command.run.chars().take(MAX_LISTED_CHARS).collect();
        format!("{run} ({directory}{}{condition})", command.found_in)
    });
    let files = uncovered.unreadable_files.iter();
    let files = files.map(|file| format!("{}: {}", file.path, file.problem));
    comment(
        "CI also runs these commands, which no check above covers:",
        commands,
    ) + &comment(
        "These files of CI are not valid YAML, so their commands are unknown:",
        files,
    )
}

/// A comment with a list; empty without entries.
fn comment(title: &str, entries: impl ExactSizeIterator<Item = String>) -> String {
    let omitted = entries.len().saturating_sub(MAX_LISTED);
    let entries = entries.take(MAX_LISTED);
    let mut lines: Vec<String> = entries
        .map(|entry| format!("#   {}\n", entry.replace(char::is_control, " ")))
        .collect();
    if omitted > 0 {
        lines.push(format!("#   and {omitted} more\n"));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\n# {title}\n{}", lines.concat())
}
