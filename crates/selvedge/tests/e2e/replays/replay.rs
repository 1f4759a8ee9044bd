//! One change between two releases, made by the agent of a real run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use selvedge_testkit::TestEnv;
use serde_json::Value;

use super::release::{NodePackages, Project};
use crate::archives::{Files, write};
use crate::corpus::packages::install_from;
use crate::tools::{shell, with_tools};

/// The change that the agent makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// From the earlier release to the later one.
    Release,
    /// Adds the later sources; the later tests are present already and fail.
    Fix,
    /// Adds the later tests without the sources.
    TestsOnly,
    /// Replaces the later tests, which fail, by the earlier ones.
    TestsUndone,
    /// From the later release to the earlier one.
    Reverted,
}

/// Results of the project's tests outside of Selvedge.
#[derive(Debug, Clone, Copy)]
struct Oracle {
    /// Whether the later sources pass the earlier tests; unknown if tests and sources share files.
    new_passes_old_tests: Option<bool>,
    /// Whether the earlier sources pass the later tests.
    old_passes_new_tests: Option<bool>,
}

/// The required outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Verified,
    /// A review is acceptable: the original tests do not fit.
    VerifiedOrReviewed,
    NotVerified,
}

/// The result of a run.
#[derive(Debug)]
struct RunResult {
    code: i32,
    outcome: String,
    reason: String,
    /// The full output, for the message of a failure.
    output: String,
}

/// The result of one replay.
pub(super) struct Replayed {
    project: String,
    releases: String,
    runner: String,
    change: &'static str,
    expected: Expected,
    result: Result<RunResult, String>,
}

/// Replays every meaningful change of a project.
pub(super) fn replay(project: &Project, packages: &NodePackages) -> Vec<Replayed> {
    let old = project.files(&project.old);
    let new = project.files(&project.new);
    let oracle = Oracle::ask(project, packages, &old, &new);
    let changes = [
        (Change::Release, old.clone(), new.clone()),
        (Change::Fix, with_tests(project, &old, &new), new.clone()),
        (
            Change::TestsOnly,
            old.clone(),
            with_tests(project, &old, &new),
        ),
        (
            Change::TestsUndone,
            with_tests(project, &old, &new),
            old.clone(),
        ),
        (Change::Reverted, new, old),
    ];
    let changes = changes.iter().filter_map(|(change, before, after)| {
        let expected = change.expected(oracle)?;
        let expected = match expected {
            Expected::Verified if project.review.is_some() => Expected::VerifiedOrReviewed,
            expected => expected,
        };
        let result = run(project, packages, before, after);
        Some(Replayed {
            change: change.label(),
            expected,
            ..Replayed::new(project, result)
        })
    });
    changes.collect()
}

/// Returns the sources of one release with the tests of another.
fn with_tests(project: &Project, sources: &Files, tests: &Files) -> Files {
    let sources = sources.iter().filter(|(path, _)| !project.is_test(path));
    let tests = tests.iter().filter(|(path, _)| project.is_test(path));
    let files = sources.chain(tests);
    files
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// Creates an environment with these files, committed.
fn lay_out(project: &Project, packages: &NodePackages, files: &Files) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    for (path, file) in files {
        write(&env.work_dir(), path, file);
    }
    install_from(packages.folder(), &project.npm, &env.work_dir());
    env.create_repo();
    env
}

impl Oracle {
    /// Runs the tests of both releases with their own sources and with each other's.
    fn ask(project: &Project, packages: &NodePackages, old: &Files, new: &Files) -> Self {
        let passes = |files: &Files| {
            let env = lay_out(project, packages, files);
            shell(&env, &project.check)
        };
        for (release, files) in [(&project.old, old), (&project.new, new)] {
            let output = passes(files);
            let version = &release.version;
            assert_eq!(output.code, 0, "{version} fails its own tests\n{output}");
        }
        let crossed = |sources, tests| {
            let can_cross = !project.tests.is_empty();
            can_cross.then(|| passes(&with_tests(project, sources, tests)).code == 0)
        };
        Self {
            new_passes_old_tests: crossed(new, old),
            old_passes_new_tests: crossed(old, new),
        }
    }
}

impl Change {
    /// Returns the required outcome. Returns `None` if the tests do not distinguish the releases: then no work
    /// could be missing.
    fn expected(self, oracle: Oracle) -> Option<Expected> {
        let is_distinguished = oracle.old_passes_new_tests == Some(false);
        match self {
            Self::Release if oracle.new_passes_old_tests == Some(true) => Some(Expected::Verified),
            Self::Release => Some(Expected::VerifiedOrReviewed),
            Self::Fix => is_distinguished.then_some(Expected::Verified),
            Self::TestsOnly | Self::TestsUndone => {
                is_distinguished.then_some(Expected::NotVerified)
            }
            // In languages with tests inside of sources, the later tests cover added items.
            Self::Reverted => {
                (oracle.old_passes_new_tests != Some(true)).then_some(Expected::NotVerified)
            }
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Fix => "sources, for failing tests",
            Self::TestsOnly => "reverse: tests alone",
            Self::TestsUndone => "reverse: failing tests undone",
            Self::Reverted => "reverse: release undone",
        }
    }
}

/// Runs an agent that changes `before` into `after`, with the project's own test command.
fn run(
    project: &Project,
    packages: &NodePackages,
    before: &Files,
    after: &Files,
) -> Result<RunResult, String> {
    let env = lay_out(project, packages, before);
    let agent = write_agent(&env, before, after);
    let task = format!(
        "Change {} as its maintainers did, with its tests",
        project.name
    );
    let run = ["run", &task, "--agent-cmd", &agent];
    let run = env.selvedge(run).args(["--check", &project.check]);
    let run = run.args(["--retries", "0", "--format", "json"]);
    let output = with_tools(run, &env).run();
    let result: Value = serde_json::from_str(&output.stdout)
        .map_err(|error| format!("the run printed no result: {error}\n{output}"))?;
    let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
    Ok(RunResult {
        code: output.code,
        outcome: text("outcome"),
        reason: text("reason"),
        output: output.to_string(),
    })
}

/// Writes an agent that applies the differences; returns its command line.
fn write_agent(env: &TestEnv, before: &Files, after: &Files) -> String {
    let changed = env.root().join("changed");
    fs::create_dir(&changed).unwrap();
    let mut script = "set -e\ncat > /dev/null\n".to_owned();
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        // Writing to a string cannot fail.
        let _ = writeln!(script, "rm '{path}'");
    }
    for (path, file) in after {
        if before.get(path) != Some(file) {
            write(&changed, path, file);
        }
    }
    let _ = writeln!(script, "cp -R '{}/.' .", changed.display());
    let path = env.root().join("agent.sh");
    fs::write(&path, script).unwrap();
    format!("sh '{}'", path.display())
}

impl Replayed {
    fn new(project: &Project, result: Result<RunResult, String>) -> Self {
        Self {
            project: project.name.clone(),
            releases: format!("{} → {}", project.old.version, project.new.version),
            runner: project.runner.clone(),
            change: "none",
            expected: Expected::NotVerified,
            result,
        }
    }

    /// The result for a project that could not be replayed.
    pub(super) fn broken(project: &Project, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("a panic without a message");
        Self::new(project, Err(text.to_owned()))
    }

    /// Returns why the outcome is wrong, or `None` if it is as required.
    pub(super) fn miss(&self) -> Option<String> {
        let Self {
            project, change, ..
        } = self;
        let why = match &self.result {
            Err(why) => why,
            Ok(result) if self.is_expected(result) => return None,
            Ok(result) => &result.output,
        };
        Some(format!("{project}: {change}\n{why}"))
    }

    fn is_expected(&self, result: &RunResult) -> bool {
        match self.expected {
            Expected::Verified => result.code == 0,
            Expected::VerifiedOrReviewed => matches!(result.code, 0 | 7),
            Expected::NotVerified => matches!(result.code, 1 | 7),
        }
    }

    /// Returns a row of the table.
    pub(super) fn row(&self) -> String {
        let (outcome, reason) = match &self.result {
            Ok(result) => (result.outcome.replace('_', " "), result.reason.as_str()),
            Err(why) => (
                "no replay".to_owned(),
                why.lines().next().unwrap_or_default(),
            ),
        };
        let mark = if self.miss().is_some() {
            "**miss** "
        } else {
            ""
        };
        let cells = [
            &self.project,
            &self.releases,
            &self.runner,
            self.change,
            self.expected.label(),
            &outcome,
        ];
        let reason = reason.replace('|', "\\|").replace('\n', " ");
        format!("| {} | {mark}{reason} |", cells.join(" | "))
    }
}

impl Expected {
    fn label(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::VerifiedOrReviewed => "verified or review",
            Self::NotVerified => "not verified",
        }
    }
}

/// Returns the last row: the number of replays with each outcome.
pub(super) fn total(replayed: &[Replayed]) -> String {
    let mut counts = BTreeMap::new();
    for one in replayed {
        let outcome = one.result.as_ref().map_or("no replay", |it| &it.outcome);
        *counts.entry(outcome.replace('_', " ")).or_insert(0) += 1;
    }
    let counts = counts.iter().map(|(name, count)| format!("{count} {name}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    format!("| total | {} replays | | | | {counts} | |", replayed.len())
}
