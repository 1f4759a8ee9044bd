//! Adds arguments to a check's command that ask its test runner for a machine-readable report.
//!
//! Only a command that *is* the runner is changed, and only by options of the runner that do not change its output. A
//! shell line, a script and any unknown command are executed unchanged, with variables that ask the runners behind them
//! for a report.

mod table;

use std::path::{Path, PathBuf};

use selvedge_core::flakiness::TestRunner;

pub(super) use table::{ReportLocation, RunnerSpec, VariableJoin};

use table::{TABLE, WRAPPER};

/// Programs that run another program, which is named after these words.
const LAUNCHERS: &[&[&str]] = &[
    &["npx"],
    &["pnpm", "exec"],
    &["bundle", "exec"],
    &["uv", "run"],
    &["poetry", "run"],
    &["pdm", "run"],
    &["pipenv", "run"],
    &["php"],
];

/// Options of launchers that take no value, so that the next word is still the program.
const LAUNCHER_SWITCHES: &[&str] = &[
    "--no-install",
    "--no",
    "--yes",
    "-y",
    "--frozen",
    "--locked",
    "--no-sync",
    "--",
];

/// Commands of test runners that can run selected tests.
const SELECTABLE_RUNNERS: &[(&[&str], TestRunner)] = &[
    (&["pytest"], TestRunner::Pytest),
    (&["py.test"], TestRunner::Pytest),
    (&["python", "-m", "pytest"], TestRunner::Pytest),
    (&["python", "-m", "unittest"], TestRunner::Unittest),
    (&["cargo", "test"], TestRunner::CargoTest),
    (&["cargo", "nextest", "run"], TestRunner::Nextest),
    (&["jest"], TestRunner::Jest),
    (&["vitest", "run"], TestRunner::Vitest),
    (&["mocha"], TestRunner::Mocha),
    (&["node"], TestRunner::NodeTest),
    (&["go", "test"], TestRunner::GoTest),
    (&["rspec"], TestRunner::Rspec),
    (&["phpunit"], TestRunner::Phpunit),
];

/// Returns the runner that a command calls if it can run selected tests, and the index of its options.
pub(super) fn find_runner(argv: &[String]) -> Option<(TestRunner, usize)> {
    let from = launcher_length(argv);
    let rest = argv.get(from..)?;
    let (runner, length) = SELECTABLE_RUNNERS
        .iter()
        .find_map(|(words, runner)| Some((*runner, matching_prefix_length(words, rest)?)))?;
    let runs_tests = runner != TestRunner::NodeTest || rest.iter().any(|word| word == "--test");
    runs_tests.then_some((runner, from + length))
}

/// Whether a word names a test runner that is installed with a project's dependencies.
pub(super) fn is_runner(name: &str) -> bool {
    let reporting = TABLE.iter().flat_map(|row| row.invocations);
    let selectable = SELECTABLE_RUNNERS.iter().map(|(words, _)| words);
    let mut words = reporting.chain(selectable).flat_map(|words| *words);
    words.any(|word| *word == name)
}

/// A runner found in a command, and the index of its options.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunnerInvocation {
    pub(super) spec: &'static RunnerSpec,
    options_start: usize,
}

/// Returns the runner that a command calls if a report can be requested from it.
pub(super) fn find_reporting_runner(argv: &[String]) -> Option<RunnerInvocation> {
    let from = launcher_length(argv);
    TABLE.iter().find_map(|row| {
        let words = row.invocations.iter();
        let length = words
            .filter_map(|words| matching_prefix_length(words, argv.get(from..)?))
            .max()?;
        let options_at = from + length;
        let options = argv.get(options_at..)?;
        let has = |option: &str| options.iter().any(|word| is_option(word, option));
        // A runner that is replaced by another program must be named without a path.
        let is_replaced = row
            .replacement
            .is_some_and(|(replaced, _)| replaced == length);
        let is_replaceable = !is_replaced || !argv.get(from)?.contains('/');
        let has_allowed_options = row.required_argument.is_none_or(has)
            && !row.excluding_arguments.iter().any(|option| has(option));
        (has_allowed_options && is_replaceable).then_some(RunnerInvocation {
            spec: row,
            options_start: options_at,
        })
    })
}

/// Returns the invocation of a command that may start test runners without being one.
pub(super) fn wrapper_invocation(argv: &[String]) -> Option<RunnerInvocation> {
    /// Programs whose tests do not read these variables, and whose builds may depend on them.
    const UNSUPPORTED: &[&str] = &[
        "cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix",
    ];
    let program = plain_name(argv.get(launcher_length(argv))?);
    (!UNSUPPORTED.contains(&program)).then_some(RunnerInvocation {
        spec: &WRAPPER,
        options_start: argv.len(),
    })
}

impl RunnerInvocation {
    /// Returns the variables that the runner is started with, and how each is joined with an existing value.
    pub(super) fn variables(&self, folder: &Path) -> Vec<(&'static str, String, VariableJoin)> {
        let folder = folder.display().to_string();
        let variables = self.spec.variables.iter();
        variables
            .map(|it| (it.name, it.value.replace("{folder}", &folder), it.join))
            .collect()
    }

    /// Returns the arguments to execute if the report is to be written to a file in this folder.
    pub(super) fn argv(&self, argv: &[String], folder: &Path) -> Vec<String> {
        let (call, options) = argv.split_at(self.options_start.min(argv.len()));
        let has_any = |alternatives: &[&str]| {
            let mut options = options.iter();
            options.any(|word| alternatives.iter().any(|option| is_option(word, option)))
        };
        let default_arguments = self
            .spec
            .default_arguments
            .filter(|(alternatives, _)| !has_any(alternatives));
        let default_arguments = default_arguments.map_or(&[][..], |(_, adds)| adds);
        let (replaced, replacement) = self.spec.replacement.unwrap_or_default();
        let kept_words = call.len().saturating_sub(replaced);
        let added = replacement
            .iter()
            .chain(default_arguments)
            .chain(self.spec.added_arguments);
        let report = report_path(folder);
        let aid = self
            .spec
            .helper_files
            .first()
            .map_or_else(PathBuf::new, |(name, _)| folder.join(name));
        let added = added.map(|word| {
            word.replace("{report}", &report)
                .replace("{folder}", &folder.display().to_string())
                .replace("{aid}", &aid.display().to_string())
        });
        let mut words: Vec<String> = call.iter().take(kept_words).cloned().collect();
        words.extend(added);
        words.extend_from_slice(options);
        words
    }

    /// Returns whether the output shows that the runner's version does not support the options.
    pub(super) fn is_refused(&self, printed: &str) -> bool {
        self.spec
            .rejection_markers
            .iter()
            .any(|marker| printed.contains(marker))
    }

    /// Returns the names and texts of the helper files that the runner needs.
    pub(super) fn helper_files(
        &self,
        folder: &Path,
    ) -> impl Iterator<Item = (&'static str, String)> {
        // A JSON string is also a JavaScript and TOML string.
        let report = serde_json::Value::from(report_path(folder)).to_string();
        let folder = folder.display().to_string();
        let files = self.spec.helper_files.iter();
        files.map(move |(name, text)| {
            let text = text.replace("{report}", &report);
            (*name, text.replace("{folder}", &folder))
        })
    }
}

/// Name of the report in its folder.
pub(super) const REPORT_FILE: &str = "report";

fn report_path(folder: &Path) -> String {
    folder.join(REPORT_FILE).display().to_string()
}

/// Returns the number of words before the program that a launcher runs.
fn launcher_length(argv: &[String]) -> usize {
    let mut at = 0;
    if argv.first().is_some_and(|word| plain_name(word) == "env") {
        at += 1;
        let rest = argv.iter().skip(1);
        at += rest
            .take_while(|word| !word.starts_with('-') && word.contains('='))
            .count();
    }
    let launched = LAUNCHERS
        .iter()
        .find_map(|words| matching_prefix_length(words, argv.get(at..)?));
    at += launched.unwrap_or(0);
    if launched.is_some() {
        let rest = argv.iter().skip(at);
        at += rest
            .take_while(|word| LAUNCHER_SWITCHES.contains(&word.as_str()))
            .count();
    }
    at
}

/// Returns the number of arguments that these words match, if the command begins with them.
fn matching_prefix_length(words: &[&str], argv: &[String]) -> Option<usize> {
    let (first, rest) = words.split_first()?;
    let mut arguments = argv.iter().enumerate();
    let (_, program) = arguments.next()?;
    (plain_name(program) == *first).then_some(())?;
    let mut end = 1;
    // The toolchain of `cargo +nightly …` does not matter.
    let mut arguments = arguments.filter(|(at, word)| !(*at == 1 && word.starts_with('+')));
    for word in rest {
        let (at, argument) = arguments.next()?;
        (argument == word).then_some(())?;
        end = at + 1;
    }
    Some(end)
}

/// Returns a program's name without its folder and without Python's version.
fn plain_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if bare == "python" { bare } else { name }
}

/// Returns whether a word is this option, with or without a value: `--out=x`, `--outputFile.json=x`, `-fd`.
fn is_option(word: &str, option: &str) -> bool {
    if option.len() == 2 {
        return word.starts_with(option);
    }
    word.split(['=', '.']).next() == Some(option)
}

#[cfg(test)]
mod tests;
