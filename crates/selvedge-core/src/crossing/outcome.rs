//! Evaluates the checks with the original tests, compared with the baseline.

use std::collections::BTreeSet;

use super::added_tests::{AttemptsTests, fails_without_failed_test, has_settled};
use super::config_files::is_configuration;
use super::expected::{ExpectedChanges, named_failures};
use super::expected_failures::unexpected_passes;
use super::renames::NewNames;
use super::sides::{CrossedFile, ProjectSide, Replacement};
use crate::comparison::signature;
use crate::comparison::static_analysis::runs_only_linters;
use crate::comparison::test_regression;
use crate::format::counted;
use crate::guard::Pattern;
use crate::model::{CheckReport, CheckStatus, CrossedReport, CrossedResult};
use selvedge_digest::{Failure, FailureKind, TestSummary};

/// The runs of the checks with the original tests so far. Each list of reports has one per step.
#[derive(Debug, Default)]
pub struct CrossedRuns {
    /// Files of the test side that the attempt deleted: their findings are not corrected.
    pub deleted: BTreeSet<String>,
    /// With the original versions of all files of the test side and of shared files.
    pub original: Vec<CheckReport>,
    /// With the attempt's renames applied to the original files, if the first run failed; and the new names.
    pub renamed: Option<(NewNames, Vec<CheckReport>)>,
    /// With the attempt's versions of the shared files, if the first run failed.
    pub with_attempts_shared: Option<Vec<CheckReport>>,
    /// With the original files and the attempt's own tests, if only a rule such as minimum coverage failed.
    pub with_added_tests: Option<Vec<CheckReport>>,
    /// Without the original files that do not build or cannot be collected; and those files.
    pub without_unfit: Option<(BTreeSet<String>, Vec<CheckReport>)>,
}

/// The next run of the checks that is needed to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRun {
    /// No further run.
    Done,
    /// A run with the new names in the originals.
    WithNewNames,
    /// A run with the attempt's versions of these test files.
    WithAddedTests(BTreeSet<String>),
    /// A run with the attempt's versions of the shared files.
    WithAttemptsShared,
    /// A run with the attempt's versions of these files, because the original versions do not build with its work.
    WithoutUnfit(BTreeSet<String>),
}

impl CrossedRuns {
    /// The time of all runs except the one with these reports; `None` if there was no other.
    fn other_runs_ms(&self, deciding: &[CheckReport]) -> Option<u64> {
        let others = [
            self.renamed.as_ref().map(|(_, checks)| checks),
            self.with_attempts_shared.as_ref(),
            self.with_added_tests.as_ref(),
            self.without_unfit.as_ref().map(|(_, checks)| checks),
        ];
        let others: Vec<&[CheckReport]> = others.into_iter().flatten().map(Vec::as_slice).collect();
        let total: u64 = others.iter().map(|checks| time_of(checks)).sum();
        (!others.is_empty())
            .then(|| (total + time_of(&self.original)).saturating_sub(time_of(deciding)))
    }

    /// The run that decides the result.
    fn decisive_run(&self, baseline: &[Option<&CheckReport>]) -> &[CheckReport] {
        if let Some((_, checks)) = self.passed_with_new_names() {
            return checks;
        }
        if let Some(checks) = self.passed_with_added_tests(baseline) {
            return checks;
        }
        match &self.without_unfit {
            Some((_, checks)) => checks,
            None => self.run_with_all_originals(),
        }
    }

    fn run_with_all_originals(&self) -> &[CheckReport] {
        match &self.with_attempts_shared {
            Some(checks) if !ran_tests(&self.original) || is_passed(checks) => checks,
            _ => &self.original,
        }
    }

    fn passed_with_new_names(&self) -> Option<&(NewNames, Vec<CheckReport>)> {
        self.renamed
            .as_ref()
            .filter(|(_, checks)| is_passed(checks))
    }

    fn passed_with_added_tests(&self, baseline: &[Option<&CheckReport>]) -> Option<&[CheckReport]> {
        let checks = self.with_added_tests.as_deref()?;
        let is_settled = is_passed(checks) && has_settled(baseline, &self.original, checks);
        is_settled.then_some(checks)
    }

    /// The results of all checks; for failed ones, those of the run with the attempt's versions of corrected test
    /// files. `None` unless each failed check is a linter or formatter whose findings are all in these files and were
    /// in the baseline as well.
    fn passed_with_corrected_files(
        &self,
        baseline: &[Option<&CheckReport>],
    ) -> Option<Vec<CheckReport>> {
        let (corrected, checks) = self.without_unfit.as_ref()?;
        let is_corrected = |failure: &Failure| {
            let file = failure.file.as_deref();
            let mut corrected = corrected.difference(&self.deleted);
            file.is_some_and(|file| corrected.any(|path| names_file(file, path)))
        };
        let originals = self.run_with_all_originals().iter();
        let pairs = originals.zip(checks).enumerate();
        let decided = pairs.map(|(index, (original, with_corrected))| {
            if is_passed(std::slice::from_ref(original)) {
                return Some(original.clone());
            }
            let before = baseline.get(index).copied().flatten()?;
            let fails_by_findings = runs_only_linters(&original.target)
                && original.status == CheckStatus::Fail
                && before.status == CheckStatus::Fail
                && !original.failures.is_empty()
                && original.failures.iter().all(is_corrected)
                && signature::is_within(original, before);
            (fails_by_findings && is_passed(std::slice::from_ref(with_corrected)))
                .then(|| with_corrected.clone())
        });
        decided.collect()
    }

    fn is_decided_by_shared(&self) -> bool {
        let shared = self.with_attempts_shared.as_deref();
        self.without_unfit.is_none() && shared.is_some_and(is_passed)
    }
}

/// Decides which run to make next. `has_new_names`: whether the attempt renamed anything that the original tests use.
pub fn next_run(
    files: &[CrossedFile],
    has_new_names: bool,
    tests: &AttemptsTests,
    baseline: &[Option<&CheckReport>],
    runs: &CrossedRuns,
    expected: &ExpectedChanges<'_>,
) -> NextRun {
    if is_passed(runs.decisive_run(baseline)) {
        return NextRun::Done;
    }
    if runs.renamed.is_none() && fails_as_expected(&runs.original, baseline, expected) {
        return NextRun::Done;
    }
    if runs.with_added_tests.is_none() {
        let settling = tests.that_may_settle(baseline, &runs.original);
        if !settling.is_empty() {
            return NextRun::WithAddedTests(settling);
        }
    }
    if has_new_names && runs.renamed.is_none() {
        return NextRun::WithNewNames;
    }
    let has_shared = files.iter().any(|file| file.side == ProjectSide::Shared);
    if has_shared && runs.with_attempts_shared.is_none() {
        return NextRun::WithAttemptsShared;
    }
    if runs.without_unfit.is_some() {
        return NextRun::Done;
    }
    let unfit = find_unfit(files, runs.decisive_run(baseline));
    if unfit.is_empty() {
        NextRun::Done
    } else {
        NextRun::WithoutUnfit(unfit)
    }
}

/// Whether all tests that fail are ones whose change the task expects.
fn fails_as_expected(
    checks: &[CheckReport],
    baseline: &[Option<&CheckReport>],
    expected: &ExpectedChanges<'_>,
) -> bool {
    let sum = CrossedSummary::new(checks, baseline, expected, true);
    !sum.fails_again && !sum.is_undecided && sum.unrunnable.is_empty()
}

/// The report if the attempt changed nothing on the test side except what the task expects.
pub fn report_all_expected(expected_files: Vec<String>) -> CrossedReport {
    CrossedReport {
        result: CrossedResult::Passed,
        reason: format!(
            "not run: the task expects all changes of tests ({})",
            counted(expected_files.len() as u64, "file")
        ),
        changed: 0,
        changed_files: Vec::new(),
        unused_files: Vec::new(),
        shared_files: Vec::new(),
        unfit_files: Vec::new(),
        expected_files: limit_listed(expected_files),
        still_failing: Vec::new(),
        undecided_tests: Vec::new(),
        checks: Vec::new(),
        other_runs_ms: None,
    }
}

/// Evaluates the runs. `baseline` has the report of each step before the attempt, if known; `expected_files` keep the
/// attempt's content.
pub fn conclude(
    files: &[CrossedFile],
    baseline: &[Option<&CheckReport>],
    runs: &CrossedRuns,
    expected: &ExpectedChanges<'_>,
    expected_files: Vec<String>,
) -> CrossedReport {
    let new_names = runs.passed_with_new_names().map(|(names, _)| names.clone());
    let has_moved = |names: &NewNames| names.iter().any(|(_, to)| to.contains('.'));
    let corrected = runs.passed_with_corrected_files(baseline);
    let takes_added = new_names.is_none() && runs.passed_with_added_tests(baseline).is_some();
    let unfit: Vec<String> = match &runs.without_unfit {
        Some((unfit, _)) if corrected.is_none() => unfit.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let shared: Vec<String> = if runs.is_decided_by_shared() {
        let shared = files.iter().filter(|file| file.side == ProjectSide::Shared);
        shared.map(|file| file.path.clone()).collect()
    } else {
        Vec::new()
    };
    let took_no_part = new_names.is_none() && corrected.is_none() && !takes_added;
    let unused = files.iter().filter(|file| {
        let is_whole = matches!(file.replacement, Replacement::Base | Replacement::Removed);
        took_no_part && is_whole
    });
    let unused = unused.map(|file| file.path.clone()).collect();
    let checks = corrected.unwrap_or_else(|| runs.decisive_run(baseline).to_vec());
    // With other files in their place, different tests are executed.
    let compares_tests =
        unfit.is_empty() && expected_files.is_empty() && !new_names.as_ref().is_some_and(has_moved);
    let sum = CrossedSummary::new(&checks, baseline, expected, compares_tests);
    let (result, reason) = match () {
        () if sum.fails_again => (
            CrossedResult::StillFailing,
            sum.describe_still_failing(files),
        ),
        () if !sum.unrunnable.is_empty() => {
            (CrossedResult::TestsDoNotFit, sum.describe_unrunnable())
        }
        () if sum.is_undecided => (CrossedResult::Undecided, sum.describe_undecided()),
        () if !unfit.is_empty() => (
            CrossedResult::TestsDoNotFit,
            format!(
                "the original {} cannot be run against this work",
                join_names(&unfit)
            ),
        ),
        () if !shared.is_empty() => (
            CrossedResult::SharedFiles,
            format!(
                "with the original tests, the checks pass only with the changed {}",
                join_names(&shared)
            ),
        ),
        () if takes_added => (
            CrossedResult::Passed,
            "the checks also pass with the original tests and the added ones".to_owned(),
        ),
        () => (CrossedResult::Passed, describe_passed(new_names.as_deref())),
    };
    let paths = files.iter().map(|file| file.path.clone());
    CrossedReport {
        result,
        reason,
        changed: files.len() as u64,
        changed_files: limit_listed(paths.collect()),
        unused_files: limit_listed(unused),
        shared_files: limit_listed(shared),
        unfit_files: limit_listed(unfit),
        expected_files: limit_listed(expected_files),
        still_failing: limit_listed(sum.still_failing.into_iter().collect()),
        undecided_tests: limit_listed(sum.undecided.into_iter().collect()),
        other_runs_ms: runs.other_runs_ms(&checks),
        checks,
    }
}

fn time_of(checks: &[CheckReport]) -> u64 {
    let times = checks
        .iter()
        .map(|check| check.duration_ms + check.reruns_ms.unwrap_or_default());
    times.sum()
}

fn limit_listed(names: Vec<String>) -> Vec<String> {
    names.into_iter().take(CrossedReport::MAX_LISTED).collect()
}

fn describe_passed(new_names: Option<&[(String, String)]>) -> String {
    let new_names = new_names.unwrap_or_default().iter();
    let renamed: Vec<String> = new_names
        .map(|(from, to)| format!("{from} as {to}"))
        .collect();
    let passed = "the checks also pass with the original tests";
    match renamed.as_slice() {
        [] => passed.to_owned(),
        renamed => format!("{passed}, with {}", join_names(renamed)),
    }
}

/// Summary of the checks of the decisive run.
#[derive(Debug, Default)]
struct CrossedSummary<'a> {
    expected: ExpectedChanges<'a>,
    compares_tests: bool,
    fails_again: bool,
    is_undecided: bool,
    still_failing: BTreeSet<String>,
    undecided: BTreeSet<String>,
    /// Checks of which no original test could be executed.
    unrunnable: Vec<String>,
    /// Checks that decide without naming tests, with the reasons.
    reasons: Vec<String>,
}

impl<'a> CrossedSummary<'a> {
    fn new(
        checks: &[CheckReport],
        baseline: &[Option<&CheckReport>],
        expected: &ExpectedChanges<'a>,
        compares_tests: bool,
    ) -> Self {
        let mut sum = Self {
            expected: expected.clone(),
            compares_tests,
            ..Self::default()
        };
        for (index, check) in checks.iter().enumerate() {
            sum.add(baseline.get(index).copied().flatten(), check);
        }
        sum
    }

    fn add(&mut self, before: Option<&CheckReport>, check: &CheckReport) {
        match check.status {
            CheckStatus::Skip => {}
            CheckStatus::Pass => self.add_passed(before, check),
            CheckStatus::Error => {
                let reason = check.reason.as_deref().unwrap_or("could not be run");
                self.mark_undecided(check, reason);
            }
            CheckStatus::Fail | CheckStatus::Timeout => self.add_failed(before, check),
        }
    }

    /// The tests are the same as before, so every one of them must have been executed again.
    fn add_passed(&mut self, before: Option<&CheckReport>, check: &CheckReport) {
        let before = before.filter(|_| self.compares_tests);
        let Some(tests) = before.and_then(|before| before.tests.as_ref()) else {
            return;
        };
        let Some(mut lost) =
            test_regression::find_unexecuted(tests, check.tests.as_ref(), check.evidence)
        else {
            return;
        };
        let named = lost.tests.len();
        lost.tests.retain(|id| !self.expected.has_test(id));
        if named > 0 && lost.tests.is_empty() {
            return;
        }
        self.mark_undecided(check, &lost.reason);
        self.undecided.extend(lost.tests);
    }

    fn add_failed(&mut self, before: Option<&CheckReport>, check: &CheckReport) {
        let label = check.label();
        if before.is_some_and(|before| fits_no_test(before, check)) {
            self.unrunnable.push(label.to_owned());
            return;
        }
        let Some(failed) = named_failures(check) else {
            if before.is_some_and(|before| fails_without_failed_test(before, check)) {
                self.mark_undecided(check, "fails, although all original tests pass");
                return;
            }
            let fails_as_before = before.is_some_and(|before| {
                before.status.is_failure()
                    && (check.failures.is_empty() || signature::is_within(check, before))
            });
            if fails_as_before {
                self.fails_again = true;
                self.reasons.push(format!("`{label}` still fails"));
            } else {
                self.mark_undecided(check, "fails");
            }
            return;
        };
        let failed_before = before.and_then(|before| Some((before, named_failures(before)?)));
        let passed = unexpected_passes(before, check);
        for id in failed
            .into_iter()
            .filter(|id| !self.expected.has_test(id) && !passed.contains(id))
            .collect::<Vec<_>>()
        {
            let again = failed_before.as_ref().is_some_and(|(before, ids)| {
                ids.contains(&id) && !has_become_unfit(before, check, &id)
            });
            if again {
                self.fails_again = true;
                self.still_failing.insert(id);
            } else {
                self.is_undecided = true;
                self.undecided.insert(id);
            }
        }
    }

    fn mark_undecided(&mut self, check: &CheckReport, reason: &str) {
        self.is_undecided = true;
        self.reasons.push(format!("`{}`: {reason}", check.label()));
    }

    fn describe_still_failing(&self, files: &[CrossedFile]) -> String {
        let tests: Vec<String> = self.still_failing.iter().cloned().collect();
        let what = match tests.as_slice() {
            [] => self.reasons.join("; "),
            [test] => format!("{test} still fails"),
            tests => format!(
                "{} still fail: {}",
                counted(tests.len() as u64, "test"),
                join_names(tests)
            ),
        };
        let changed = name_changed(files);
        let kind = if files.iter().all(|file| is_configuration(&file.path)) {
            "configuration and declarations"
        } else {
            "tests"
        };
        format!("with the original tests, {what}; changes to {kind} do not count ({changed})")
    }

    fn describe_unrunnable(&self) -> String {
        let labels: Vec<String> = self.unrunnable.iter().map(|it| format!("`{it}`")).collect();
        format!(
            "the original tests of {} cannot be run against this work",
            join_names(&labels)
        )
    }

    fn describe_undecided(&self) -> String {
        let tests: Vec<String> = self.undecided.iter().cloned().collect();
        let mut parts = self.reasons.clone();
        if !tests.is_empty() {
            let count = counted(tests.len() as u64, "test");
            parts.push(format!(
                "{count} changed or broken by the attempt: {}",
                join_names(&tests)
            ));
        }
        format!(
            "with the original tests, the checks do not pass: {}",
            parts.join("; ")
        )
    }
}

/// Whether a test that failed before now fails for a different kind of reason: it does not fit the work.
fn has_become_unfit(before: &CheckReport, now: &CheckReport, id: &str) -> bool {
    let messages = |check: &CheckReport| {
        let failures = check.failures.iter();
        let of_test = failures.filter(|failure| failure.id.as_deref() == Some(id));
        of_test
            .flat_map(|failure| [Some(failure.summary.as_str()), failure.message.as_deref()])
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    };
    IS_UNFIT.is_match(&messages(now)) && !IS_UNFIT.is_match(&messages(before))
}

/// Whether no original test fits the work: none is executed, or each fails because of a missing name, although tests
/// were executed before.
fn fits_no_test(before: &CheckReport, now: &CheckReport) -> bool {
    let ran_before = before
        .tests
        .as_ref()
        .is_some_and(|tests| tests.executed > 0);
    let Some(tests) = now.tests.as_ref().filter(|tests| tests.executed > 0) else {
        return ran_before && now.status == CheckStatus::Fail;
    };
    let failed = named_failures(now).filter(|_| ran_before && tests.passed == 0);
    failed.is_some_and(|failed| failed.iter().all(|id| has_become_unfit(before, now, id)))
}

/// Messages about a name that does not exist or takes different arguments.
static IS_UNFIT: Pattern = Pattern::new(concat!(
    r"ImportError|ModuleNotFoundError|AttributeError|NameError|NoMethodError|NameError|uninitialized constant",
    r"|is not a function|is not a constructor|is not defined|does not provide an export|Cannot find module|ERR_MODULE_NOT_FOUND",
    r"|unexpected keyword argument|positional arguments? but|missing \d+ required|wrong number of arguments|ArgumentError",
    r"|undefined (?:method|local|function|symbol|reference|name)|[Uu]ndefined:|unresolved (?:import|name)|cannot find (?:symbol|function|value|type)",
    r"|Call to undefined|Class .{1,80} not found|fixture .{1,80} not found",
));

/// Original test files, among the changed ones, that do not build or cannot be collected.
fn find_unfit(files: &[CrossedFile], checks: &[CheckReport]) -> BTreeSet<String> {
    let failing = checks.iter().filter(|check| check.status.is_failure());
    let failures = failing.flat_map(|check| {
        let ran_none = check.tests.as_ref().is_none_or(|tests| tests.executed == 0);
        check
            .failures
            .iter()
            .filter(move |failure| ran_none || is_file_failure(failure))
    });
    let named: Vec<&str> = failures
        .flat_map(|failure| [failure.file.as_deref(), failure.id.as_deref()])
        .flatten()
        .collect();
    let tests = files.iter().filter(|file| file.side == ProjectSide::Test);
    tests
        .map(|file| &file.path)
        .filter(|path| named.iter().any(|name| names_file(name, path)))
        .cloned()
        .collect()
}

/// Whether a whole file fails: it does not build, or none of its tests could be collected.
fn is_file_failure(failure: &Failure) -> bool {
    let is_whole = failure
        .id
        .as_ref()
        .is_none_or(|id| failure.file.as_ref() == Some(id));
    is_whole || matches!(failure.kind, FailureKind::Compile | FailureKind::Type)
}

/// Whether a name refers to a file: `/home/me/app/tests/a.py`, `tests/a.py` and the module `tests.a` all name
/// `tests/a.py`.
fn names_file(name: &str, path: &str) -> bool {
    let is_end = |end: &str| {
        name.strip_suffix(end)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let module = path
        .rsplit_once('.')
        .map(|(module, _)| module.replace('/', "."));
    is_end(path) || module.is_some_and(|module| name == module)
}

fn is_passed(checks: &[CheckReport]) -> bool {
    checks
        .iter()
        .all(|check| matches!(check.status, CheckStatus::Pass | CheckStatus::Skip))
}

fn ran_tests(checks: &[CheckReport]) -> bool {
    let ran = |tests: &TestSummary| tests.executed > 0;
    checks
        .iter()
        .any(|check| check.tests.as_ref().is_some_and(ran))
}

/// The first of the changed files that are not only on the work side, and the number of further ones.
pub fn name_changed(files: &[CrossedFile]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    join_first(&names, 3)
}

/// The first few names, and the number of further ones.
fn join_names(names: &[String]) -> String {
    join_first(names, 5)
}

fn join_first(names: &[String], max: usize) -> String {
    let named = names
        .iter()
        .take(max)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(max) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
