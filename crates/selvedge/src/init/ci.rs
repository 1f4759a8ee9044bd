//! The commands that a project's CI and git hooks run: GitHub Actions, GitLab, CircleCI, lefthook, husky, pre-commit.
//!
//! A line reader suffices for the usual ways to write steps; what it does not understand is not proposed.

use std::collections::BTreeSet;

use super::files::{RepositoryDirectory, RepositoryFiles};
use super::proposal::{CheckRole, Proposal};

/// Words of commands by the role of the check; the first role that has a word of a command applies.
const ROLES: [(CheckRole, &[&str]); 3] = [
    (
        CheckRole::Types,
        &[
            "mypy",
            "pyright",
            "basedpyright",
            "tsc",
            "vue-tsc",
            "typecheck",
            "type-check",
            "check-types",
            "dialyzer",
            "phpstan",
            "psalm",
        ],
    ),
    (
        CheckRole::Lint,
        &[
            "lint",
            "clippy",
            "eslint",
            "biome",
            "ruff",
            "flake8",
            "pylint",
            "golangci-lint",
            "vet",
            "staticcheck",
            "rubocop",
            "standardrb",
            "credo",
            "phpcs",
            "shellcheck",
        ],
    ),
    (
        CheckRole::Test,
        &[
            "test", "tests", "nextest", "pytest", "unittest", "jest", "vitest", "tox", "nox",
            "rspec", "phpunit", "pest", "ctest",
        ],
    ),
];

/// Names of tasks that usually run several checks, the tests among them.
const CHECK_TASKS: [&str; 7] = [
    "check",
    "checks",
    "ci",
    "precommit",
    "qa",
    "validate",
    "verify",
];

const FORMATTERS: [&str; 6] = ["fmt", "format", "black", "prettier", "rustfmt", "isort"];

/// Beginnings of commands that prepare a machine, or that publish.
const NOT_CHECKS: [&str; 35] = [
    "test ",
    "[ ",
    "sudo ",
    "apt",
    "brew ",
    "curl ",
    "wget ",
    "cd ",
    "echo ",
    "export ",
    "mkdir ",
    "rm ",
    "cp ",
    "mv ",
    "git ",
    "gh ",
    "set ",
    "source ",
    ". ",
    "chmod ",
    "tar ",
    "docker ",
    "pip ",
    "pipx ",
    "python -m pip ",
    "rustup ",
    "corepack ",
    "npm ci",
    "pnpm ci",
    "bun ci",
    "npx --yes ",
    "aws ",
    "gcloud ",
    "kubectl ",
    "sleep ",
];

/// Words of commands that install, change or publish something, or do not end.
const NOT_CHECK_WORDS: [&str; 13] = [
    "install", "sync", "add", "publish", "deploy", "release", "upload", "login", "restore",
    "--fix", "--write", "--watch", "serve",
];

/// Programs that run the tool that an argument names. With other programs, such a word can mean anything: what
/// `./deploy.sh test` does is unknown, and `init` runs what it adopts.
const RUNNERS: [&str; 45] = [
    "ant", "artisan", "bazel", "bun", "bundle", "bunx", "cabal", "cargo", "cmake", "composer",
    "coverage", "deno", "dotnet", "dune", "flutter", "go", "gradle", "gradlew", "hatch", "just",
    "lerna", "make", "meson", "mix", "mvn", "mvnw", "npm", "npx", "nx", "pdm", "pipenv", "pnpm",
    "poetry", "rails", "rake", "rebar3", "sbt", "stack", "swift", "task", "turbo", "uv", "uvx",
    "yarn", "zig",
];

/// Characters of commands that start other programs, write files, or contain variables of CI.
const SHELL_SYNTAX: [char; 7] = [';', '&', '|', '<', '>', '`', '$'];

/// A command that CI or a git hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CiCommand {
    pub(crate) run: String,
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
    let targets: BTreeSet<String> = commands.iter().map(|it| it.run.clone()).collect();
    // No other command of CI replaces a guess that CI runs, too.
    let mut adopted = Vec::new();
    for proposal in proposals.iter_mut() {
        if targets.contains(&proposal.step.target) {
            proposal.is_guess = false;
            adopted.extend(command_purpose(&proposal.step.target));
        }
    }
    for command in commands {
        let words: Vec<&str> = command.run.split_whitespace().collect();
        if is_preparation(&command.run, &words) || is_proposed(&command.run, proposals) {
            continue;
        }
        let Some((role, tool)) = purpose(&words).filter(|_| is_portable(&command, &root)) else {
            uncovered.push(command);
            continue;
        };
        let same_tool = proposals.iter_mut().find(|proposal| {
            let target = &proposal.step.target;
            proposal.step.directory.is_none() && command_purpose(target) == Some((role, tool))
        });
        match same_tool {
            None => {
                adopted.push((role, tool));
                let name = unused_name(role, tool, &command.run, proposals);
                let CiCommand { run, found_in } = command;
                proposals.push(Proposal::new(&root, role, &name, run, &found_in));
            }
            // Another program runs the tool, perhaps one that is only in CI.
            Some(proposal)
                if proposal.step.target.split_whitespace().next() != words.first().copied() => {}
            Some(_) if adopted.contains(&(role, tool)) => uncovered.push(command),
            Some(proposal) => {
                adopted.push((role, tool));
                let guess = proposal.clone();
                proposal.step.target = command.run;
                proposal.found_in = command.found_in;
                proposal.is_guess = false;
                // CI's command may need what only CI has.
                proposal.alternatives.clear();
                if let Some(command) = installed_command(&root, &proposal.step.target, tool) {
                    let mut installed = proposal.clone();
                    installed.step.target = command;
                    proposal.add_alternative(installed);
                }
                proposal.add_alternative(guess);
            }
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
    uncovered.retain(|command| !is_proposed(&command.run, proposals));
    uncovered
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
        let commands = match path {
            ".husky/pre-commit" | ".husky/pre-push" => script_commands(text.lines()),
            ".gitlab-ci.yml" => yaml_commands(text, &["script:"]),
            ".circleci/config.yml" => yaml_commands(text, &["run:", "command:"]),
            _ => yaml_commands(text, &["run:"]),
        };
        commands.into_iter().map(move |run| CiCommand {
            run,
            found_in: path.to_owned(),
        })
    });
    let mut commands: Vec<_> = commands.collect();
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.run.clone()));
    commands
}

/// The commands below these keys of a YAML file.
fn yaml_commands(text: &str, keys: &[&str]) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut commands = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let entry = line.trim_start();
        let entry = entry.strip_prefix("- ").map_or(entry, str::trim_start);
        let value = keys.iter().find_map(|key| entry.strip_prefix(key));
        let Some(value) = value.map(str::trim) else {
            continue;
        };
        let indent = line.len() - entry.len();
        let below = lines[index + 1..]
            .iter()
            .copied()
            .take_while(|line| line.trim().is_empty() || is_below(line, indent));
        if value.is_empty() {
            // Only lists are read; other tables below these keys have keys of their own.
            let items = below.filter_map(|line| line.trim_start().strip_prefix("- "));
            commands.extend(script_commands(items.map(unquote)));
        } else if value.starts_with(['|', '>']) {
            commands.extend(script_commands(below));
        } else {
            commands.extend(script_commands([unquote(value)]));
        }
    }
    commands
}

/// Whether a line belongs to the value of a key with this indentation; items of a list may have the same.
fn is_below(line: &str, indent: usize) -> bool {
    let text = line.trim_start();
    let own = line.len() - text.len();
    own > indent || own == indent && text.starts_with("- ")
}

fn unquote(value: &str) -> &str {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

/// The commands of a script, one per line; none if it has control flow or lines that continue.
fn script_commands<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let lines: Vec<&str> = lines
        .into_iter()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let is_complex = |line: &&str| {
        line.ends_with(['\\', '{', '(', '|', '&'])
            || ["if ", "for ", "while ", "case ", "cd ", "pushd ", "cat <<"]
                .iter()
                .any(|start| line.starts_with(start))
    };
    if lines.iter().any(is_complex) {
        return Vec::new();
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn unused_name(role: CheckRole, tool: &str, run: &str, proposals: &[Proposal]) -> String {
    let name = if role == CheckRole::Test {
        "tests"
    } else {
        tool
    };
    let mut names = proposals.iter().map(|proposal| proposal.step.label());
    let is_used = names.any(|other| other == name);
    let name = if is_used { run } else { name };
    name.to_owned()
}

fn is_proposed(run: &str, proposals: &[Proposal]) -> bool {
    let mut targets = proposals.iter().map(|proposal| &proposal.step.target);
    targets.any(|target| target == run)
}

fn is_preparation(run: &str, words: &[&str]) -> bool {
    NOT_CHECKS.iter().any(|start| run.starts_with(start))
        || words.iter().any(|word| NOT_CHECK_WORDS.contains(word))
}

/// Whether a command is a single call of a program that means the same outside of CI, in the root of the repository.
fn is_portable(command: &CiCommand, root: &RepositoryDirectory<'_>) -> bool {
    let changes_directory = root
        .text_or_empty(&command.found_in)
        .contains("working-directory:");
    let is_foreign = ["{staged_files}", "{push_files}"]
        .iter()
        .any(|variable| command.run.contains(variable));
    !changes_directory && !is_foreign && !command.run.contains(SHELL_SYNTAX)
}

/// The role of a command line, and its tool.
fn command_purpose(command: &str) -> Option<(CheckRole, &'static str)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    purpose(&words)
}

/// The role of a command, and its tool.
fn purpose(words: &[&str]) -> Option<(CheckRole, &'static str)> {
    let words = program_words(words);
    let program = file_name(words.first()?);
    let is_tool =
        FORMATTERS.contains(&program) || ROLES.iter().any(|(_, tools)| tools.contains(&program));
    if !is_tool && !RUNNERS.contains(&program) {
        return None;
    }
    let has_word = |tool: &str| words.iter().any(|word| file_name(word) == tool);
    if let Some(formatter) = FORMATTERS.into_iter().find(|tool| has_word(tool)) {
        let checks = words
            .iter()
            .any(|word| word.contains("check") || matches!(*word, "--diff" | "-c"));
        return checks.then_some((CheckRole::Format, formatter));
    }
    let by_tool = ROLES.iter().find_map(|(role, tools)| {
        let tool = tools.iter().copied().find(|tool| has_word(tool))?;
        Some((*role, tool))
    });
    by_tool.or_else(|| Some((CheckRole::Test, check_task(program, &words[1..])?)))
}

/// The task of a task runner that runs several checks, as in `make ci`.
fn check_task(runner: &str, arguments: &[&str]) -> Option<&'static str> {
    let arguments = arguments.iter().filter(|word| !word.starts_with('-'));
    let mut arguments = arguments.copied();
    let task = match (runner, arguments.next()?) {
        ("make" | "just" | "task" | "rake", task) => task,
        ("cargo", "xtask")
        | ("deno", "task")
        | ("npm" | "pnpm" | "yarn" | "bun" | "composer", "run" | "run-script") => {
            arguments.next()?
        }
        ("pnpm" | "yarn" | "composer", script) => script,
        _ => return None,
    };
    CHECK_TASKS.into_iter().find(|name| *name == task)
}

/// The words of a command from its program on: without variables before it, and without an interpreter.
fn program_words<'w, 'a>(words: &'w [&'a str]) -> &'w [&'a str] {
    let variables = words.iter().take_while(|word| word.contains('=')).count();
    let words = &words[variables..];
    match words {
        [python, "-m" | "manage.py", rest @ ..] if file_name(python).starts_with("python") => rest,
        [php, rest @ ..] if file_name(php) == "php" => rest,
        _ => words,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Renders the commands that no check covers as a comment of the settings file.
pub(crate) fn uncovered_comment(uncovered: &[CiCommand]) -> String {
    if uncovered.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = uncovered
        .iter()
        .map(|command| {
            let line = format!("#   {} ({})", command.run, command.found_in);
            line.replace(char::is_control, " ") + "\n"
        })
        .collect();
    format!(
        "\n# CI also runs these commands, which no check above covers:\n{}",
        lines.concat()
    )
}
