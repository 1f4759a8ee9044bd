//! From the words of a check to those that also ask its test runner for a report for machines.
//!
//! Only a command that *is* the runner is changed, and only by options of the runner's own that
//! leave what it prints as it was. A shell's line, a script and anything unknown stay word for word, and are started
//! with variables by which the runners behind them are asked.

mod table;

use std::path::{Path, PathBuf};

use selvedge_core::flakiness::TestRunner;

pub(super) use table::{ReportLocation, RunnerSpec, VariableJoin};

use table::{TABLE, WRAPPER};

/// Programs that run another one, which is named right after these words.
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

/// Options of theirs that take no value, so that the next word is still the program.
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

/// The words that call runners which can be told which tests to run.
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

/// The runner that a command calls, if it can be told which tests to run, and where its options begin.
pub(super) fn find_runner(argv: &[String]) -> Option<(TestRunner, usize)> {
    let from = launcher_length(argv);
    let rest = argv.get(from..)?;
    let (runner, length) = SELECTABLE_RUNNERS
        .iter()
        .find_map(|(words, runner)| Some((*runner, matching_prefix_length(words, rest)?)))?;
    let runs_tests = runner != TestRunner::NodeTest || rest.iter().any(|word| word == "--test");
    runs_tests.then_some((runner, from + length))
}

/// A runner found in a command: where in it the runner's own options begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunnerInvocation {
    pub(super) spec: &'static RunnerSpec,
    options_start: usize,
}

/// The runner that a command calls, if it is one that writes reports and may be asked for one.
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
        // Another program that is put in the place of this one is found by its bare name, too.
        let gives_way = row
            .replacement
            .is_some_and(|(leaving, _)| leaving == length);
        let found = !gives_way || !argv.get(from)?.contains('/');
        let meant = row.required_argument.is_none_or(has)
            && !row.excluding_arguments.iter().any(|option| has(option));
        (meant && found).then_some(RunnerInvocation {
            spec: row,
            options_start: options_at,
        })
    })
}

/// A command that may start test runners without being one.
pub(super) fn wrapper_invocation(argv: &[String]) -> Option<RunnerInvocation> {
    /// Their tests are not started by way of anything that reads variables, and builds may depend on these.
    const OTHERS: &[&str] = &[
        "cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix",
    ];
    let program = plain_name(argv.get(launcher_length(argv))?);
    (!OTHERS.contains(&program)).then_some(RunnerInvocation {
        spec: &WRAPPER,
        options_start: argv.len(),
    })
}

impl RunnerInvocation {
    /// The variables that it is started with, each with how it is joined with what is there.
    pub(super) fn variables(&self, folder: &Path) -> Vec<(&'static str, String, VariableJoin)> {
        let folder = folder.display().to_string();
        let variables = self.spec.variables.iter();
        variables
            .map(|it| (it.name, it.value.replace("{folder}", &folder), it.join))
            .collect()
    }

    /// The words to execute, where the report is to be written to a file in a folder.
    pub(super) fn argv(&self, argv: &[String], folder: &Path) -> Vec<String> {
        let (call, options) = argv.split_at(self.options_start.min(argv.len()));
        let said = |given: &[&str]| {
            let mut options = options.iter();
            options.any(|word| given.iter().any(|option| is_option(word, option)))
        };
        let usual = self
            .spec
            .default_arguments
            .filter(|(given, _)| !said(given));
        let usual = usual.map_or(&[][..], |(_, adds)| adds);
        let (leaving, instead) = self.spec.replacement.unwrap_or_default();
        let staying = call.len().saturating_sub(leaving);
        let ours = instead.iter().chain(usual).chain(self.spec.added_arguments);
        let report = report_path(folder);
        let aid = self
            .spec
            .helper_files
            .first()
            .map_or_else(PathBuf::new, |(name, _)| folder.join(name));
        let ours = ours.map(|word| {
            word.replace("{report}", &report)
                .replace("{folder}", &folder.display().to_string())
                .replace("{aid}", &aid.display().to_string())
        });
        let mut words: Vec<String> = call.iter().take(staying).cloned().collect();
        words.extend(ours);
        words.extend_from_slice(options);
        words
    }

    /// Whether a version that knows no such options says so.
    pub(super) fn is_refused(&self, printed: &str) -> bool {
        self.spec
            .rejection_markers
            .iter()
            .any(|named| printed.contains(named))
    }

    /// The files that it needs beside, and what is to stand in them.
    pub(super) fn aids(&self, folder: &Path) -> impl Iterator<Item = (&'static str, String)> {
        // A string of JSON is one of JavaScript and of TOML, too.
        let report = serde_json::Value::from(report_path(folder)).to_string();
        let folder = folder.display().to_string();
        let aids = self.spec.helper_files.iter();
        aids.map(move |(name, text)| {
            let text = text.replace("{report}", &report);
            (*name, text.replace("{folder}", &folder))
        })
    }
}

/// The name of the report in its folder.
pub(super) const REPORT_FILE: &str = "report";

fn report_path(folder: &Path) -> String {
    folder.join(REPORT_FILE).display().to_string()
}

/// How many words go before the program that a command is about.
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

/// How many words of a command are these, if it begins with them.
fn matching_prefix_length(words: &[&str], argv: &[String]) -> Option<usize> {
    let (first, rest) = words.split_first()?;
    let mut given = argv.iter().enumerate();
    let (_, program) = given.next()?;
    (plain_name(program) == *first).then_some(())?;
    let mut end = 1;
    // `cargo +nightly …`: which of its versions is no matter.
    let mut given = given.filter(|(at, word)| !(*at == 1 && word.starts_with('+')));
    for word in rest {
        let (at, said) = given.next()?;
        (said == word).then_some(())?;
        end = at + 1;
    }
    Some(end)
}

/// A program's name without its folder, and without Python's version.
fn plain_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if bare == "python" { bare } else { name }
}

/// Whether a word is an option, be it with its value: `--out=x`, `--outputFile.json=x`, `-fd`.
fn is_option(word: &str, option: &str) -> bool {
    if option.len() == 2 {
        return word.starts_with(option);
    }
    word.split(['=', '.']).next() == Some(option)
}

#[cfg(test)]
mod tests;
