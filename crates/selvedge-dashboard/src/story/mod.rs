//! The story of a run: what each attempt failed on, the feedback that its agent got, whether all gates accept it, and
//! whose files are left. Pure: computed from a [`Run`] alone, for the task page, the comparison and the list.

mod tests_grid;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::Path;

use jiff::Timestamp;
use selvedge_core::model::{CheckReport, Cost, FindingSeverity, TreeId};
use selvedge_core::run::{Attempt, Phase, Run};

pub use tests_grid::{TestCell, TestGrid, TestRow};
pub use verdict::{AttemptVerdict, Tone};

use crate::text::single_line;

/// Maximum number of problems of an attempt.
const MAX_PROBLEMS: usize = 3;
/// Maximum length of a problem's title and text, in characters.
const TITLE_CHARS: usize = 110;
const TEXT_CHARS: usize = 200;
/// Maximum number of lines of the excerpt from a corrective prompt, and of characters in each.
const EXCERPT_LINES: usize = 3;
const EXCERPT_CHARS: usize = 140;

/// The story of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStory {
    /// The attempts, in order.
    pub attempts: Vec<AttemptStory>,
    /// The best attempt: the delivered one, or the verified one with the fewest failures so far.
    pub best: Option<u32>,
    /// Whose files the workspace has.
    pub left: WorkspaceTree,
    /// Tests that failed in any attempt, with their result in each.
    pub tests: TestGrid,
}

/// The attempt whose files are in the workspace, according to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceTree {
    /// Unknown: no snapshots, or a session is changing them.
    Unknown,
    /// The files from which the run began.
    Start,
    /// The files of this attempt.
    Attempt(u32),
    /// Other files: a backup was restored.
    Other,
}

/// The story of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptStory {
    /// Its number.
    pub number: u32,
    /// Number of the verification retry; 0 for the first attempt.
    pub retry: u32,
    /// Its agent.
    pub agent: String,
    /// The model that answered.
    pub model: Option<String>,
    /// The verdict of all gates: checks, judges and people.
    pub verdict: AttemptVerdict,
    /// The first problems.
    pub problems: Vec<AttemptProblem>,
    /// Number of further problems.
    pub more_problems: usize,
    /// Feedback on the attempt before: the first lines of the corrective prompt.
    pub feedback: Vec<String>,
    /// Tests or checks that failed and passed.
    pub tally: Option<TestTally>,
    /// Elapsed time of session, checks and judges, in milliseconds; so far, for an open attempt.
    pub duration_ms: u64,
    /// Its cost; `None` if its session has not reported one yet.
    pub cost: Option<Cost>,
}

/// A reason why an attempt does not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptProblem {
    /// The test, the check, the file or the judge.
    pub title: String,
    /// The assertion or the message, in one line.
    pub text: String,
    /// The location: `a.py:12`.
    pub location: Option<String>,
    /// Index of the check in the report, if it is a failure of a check.
    pub check: Option<usize>,
}

/// Numbers of failed and passed tests, or of checks if no check counts tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestTally {
    /// Whether tests are counted, not checks.
    pub of_tests: bool,
    /// Failed ones.
    pub failed: u64,
    /// Passed ones.
    pub passed: u64,
}

impl RunStory {
    /// The story of a run in its current state.
    pub fn from_run(run: &Run, now: Timestamp) -> Self {
        let attempts = run.attempts.iter();
        Self {
            attempts: attempts
                .map(|attempt| AttemptStory::new(run, attempt, now))
                .collect(),
            best: best_attempt(run),
            left: workspace_tree(run),
            tests: TestGrid::from_run(run),
        }
    }

    /// The story of one attempt.
    pub fn attempt(&self, number: u32) -> Option<&AttemptStory> {
        self.attempts.iter().find(|it| it.number == number)
    }
}

impl WorkspaceTree {
    /// A text that completes the sentence "the workspace has …".
    pub fn words(self) -> Option<String> {
        match self {
            Self::Unknown => None,
            Self::Start => Some("the files from before the task".to_owned()),
            Self::Attempt(number) => Some(format!("the files of attempt {number}")),
            Self::Other => Some("files that belong to no attempt".to_owned()),
        }
    }
}

fn workspace_tree(run: &Run) -> WorkspaceTree {
    // A running session changes the files.
    let is_changing = matches!(run.phase(), Phase::Executing(_));
    let Some(current) = run.current_tree.as_ref().filter(|_| !is_changing) else {
        return WorkspaceTree::Unknown;
    };
    let has = |tree: Option<&TreeId>| tree == Some(current);
    // The delivered attempt takes precedence: another one may have the same files.
    let delivered = run.conclusion.as_ref().and_then(|it| it.final_attempt);
    let delivered = delivered.and_then(|number| run.attempt(number));
    let mut candidates = delivered.into_iter().chain(run.attempts.iter().rev());
    if let Some(attempt) = candidates.find(|it| has(it.tree.as_ref())) {
        return WorkspaceTree::Attempt(attempt.attempt_number);
    }
    if has(run.start_tree.as_ref()) {
        return WorkspaceTree::Start;
    }
    WorkspaceTree::Other
}

/// The delivered attempt, or the verified one with the fewest failures; the last one among equals.
fn best_attempt(run: &Run) -> Option<u32> {
    let delivered = run.conclusion.as_ref().and_then(|it| it.final_attempt);
    if delivered.is_some() {
        return delivered;
    }
    let rank = |attempt: &Attempt| {
        let verdict = AttemptVerdict::of(run, attempt);
        let failed = TestTally::of(attempt).map_or(u64::MAX, |tally| tally.failed);
        (verdict.tone() != Tone::Good, failed)
    };
    let verified = run.verified_attempts().rev();
    let best = verified.min_by_key(|(attempt, _)| rank(attempt));
    best.map(|(attempt, _)| attempt.attempt_number)
}

impl AttemptStory {
    fn new(run: &Run, attempt: &Attempt, now: Timestamp) -> Self {
        let earlier = run.attempts.iter().rev();
        let mut earlier = earlier.skip_while(|it| it.attempt_number >= attempt.attempt_number);
        let before = earlier.find(|it| it.report.is_some());
        let before = before.map_or_else(Vec::new, |it| problems(run, it));
        let mut problems = problems(run, attempt);
        let more_problems = problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        let cost = attempt.cost();
        let has_ended = attempt.session.is_some() || attempt.end.is_some();
        Self {
            number: attempt.attempt_number,
            retry: attempt.retry,
            agent: single_line(&run.spec.agent_of(attempt.retry).name, 40),
            model: attempt
                .session
                .as_ref()
                .and_then(|session| session.model.as_deref())
                .map(|model| single_line(model, 40)),
            verdict: AttemptVerdict::of(run, attempt),
            problems,
            more_problems,
            feedback: attempt
                .prompt
                .correction
                .as_deref()
                .map_or_else(Vec::new, |text| prompt_excerpt(text, &before)),
            tally: TestTally::of(attempt),
            duration_ms: elapsed_ms(attempt, now),
            cost: has_ended.then_some(cost),
        }
    }
}

fn elapsed_ms(attempt: &Attempt, now: Timestamp) -> u64 {
    if attempt.end.is_none() {
        let millis = now.duration_since(attempt.began_at).as_millis();
        return u64::try_from(millis).unwrap_or(0);
    }
    let session = attempt.session.as_ref().map_or(0, |it| it.duration_ms);
    let checks = attempt.report.as_ref().map_or(0, |it| it.duration_ms);
    let judges = attempt.gates().iter().map(|gate| gate.duration_ms);
    judges.fold(session.saturating_add(checks), u64::saturating_add)
}

impl TestTally {
    fn of(attempt: &Attempt) -> Option<Self> {
        let report = attempt.report.as_ref()?;
        let tests = report.checks.iter().filter_map(|it| it.tests.as_ref());
        let (mut failed, mut passed, mut counted) = (0_u64, 0_u64, false);
        for summary in tests.filter(|it| it.executed > 0) {
            failed += summary.failed;
            passed += summary.passed;
            counted = true;
        }
        let summary = report.summary;
        // A check that fails without a failed test would be missing from the count.
        if counted && (failed > 0 || summary.failed == 0) {
            return Some(Self {
                of_tests: true,
                failed,
                passed,
            });
        }
        (summary.total > 0).then(|| Self {
            of_tests: false,
            failed: u64::from(summary.failed + summary.errors),
            passed: summary.passed.into(),
        })
    }
}

/// Everything that keeps an attempt from passing: failed checks, violations, rejections by judges
/// and people.
fn problems(run: &Run, attempt: &Attempt) -> Vec<AttemptProblem> {
    let mut problems = Vec::new();
    let session = attempt.session.as_ref();
    if let Some(error) = session.and_then(|it| it.error.as_deref()) {
        problems.push(AttemptProblem {
            title: "agent".to_owned(),
            text: single_line(error, TEXT_CHARS),
            ..AttemptProblem::default()
        });
    }
    if let Some(review) = attempt.reviewed.as_ref().filter(|it| !it.accepted) {
        problems.push(AttemptProblem {
            title: format!("rejected by {}", single_line(&review.by, 40)),
            text: single_line(&review.reason, TEXT_CHARS),
            ..AttemptProblem::default()
        });
    }
    let Some(report) = attempt.report.as_ref() else {
        return problems;
    };
    for gate in report.gates.iter().filter(|it| it.passed != Some(true)) {
        let issue = gate.judgements.iter().flat_map(|it| &it.issues).next();
        let text = issue.or(gate.feedback.as_ref()).or(gate.error.as_ref());
        let judge = gate.judgements.first().map_or("judge", |it| &it.judge);
        problems.push(AttemptProblem {
            title: format!("judge {}, tier {}", single_line(judge, 30), gate.tier),
            text: text.map_or_else(String::new, |text| single_line(text, TEXT_CHARS)),
            ..AttemptProblem::default()
        });
    }
    for finding in report.guard.iter().flat_map(|guard| &guard.findings) {
        if finding.strength != FindingSeverity::Weak {
            let path = single_line(&finding.path, TITLE_CHARS);
            problems.push(AttemptProblem {
                location: finding.line.map(|line| format!("{path}:{line}")),
                title: path,
                text: single_line(&finding.what, TEXT_CHARS),
                check: None,
            });
        }
    }
    for (index, check) in report.checks.iter().enumerate() {
        if check.status.is_failure() || check.status == selvedge_core::model::CheckStatus::Error {
            problems.extend(problems_of_check(run, index, check));
        }
    }
    if let Some(crossed) = report.still_failing() {
        problems.push(AttemptProblem {
            title: "original tests".to_owned(),
            text: single_line(&crossed.reason, TEXT_CHARS),
            ..AttemptProblem::default()
        });
    }
    problems
}

/// One problem for each failure of a check, or one for the check itself.
fn problems_of_check(run: &Run, index: usize, check: &CheckReport) -> Vec<AttemptProblem> {
    let label = single_line(check.label(), TITLE_CHARS);
    let failures = check.failures.iter().map(|failure| AttemptProblem {
        title: failure
            .id
            .as_deref()
            .map_or_else(|| label.clone(), |id| single_line(id, TITLE_CHARS)),
        text: single_line(&failure.summary, TEXT_CHARS),
        location: failure.file.as_deref().map(|file| {
            let line = failure.line.map(|line| format!(":{line}"));
            let inside = Path::new(file).strip_prefix(&run.spec.workspace).ok();
            let file = inside.and_then(Path::to_str).unwrap_or(file);
            format!("{}{}", single_line(file, 80), line.unwrap_or_default())
        }),
        check: Some(index),
    });
    let mut problems: Vec<AttemptProblem> = failures.collect();
    if problems.is_empty() {
        let digest = check.digest.as_deref().and_then(salient_line);
        let text = digest.or(check.reason.as_deref()).unwrap_or_default();
        problems.push(AttemptProblem {
            title: label,
            text: single_line(text, TEXT_CHARS),
            location: None,
            check: Some(index),
        });
    }
    problems
}

/// The most informative line of a digest: the first one with a usual word for a failure, or else the first one below
/// the heading.
pub(crate) fn salient_line(digest: &str) -> Option<&str> {
    const WORDS: [&str; 6] = [
        "error",
        "expected",
        "assert",
        "panic",
        "exception",
        "not found",
    ];
    let lines = || {
        let lines = digest.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("FAILED (exit"))
    };
    let is_salient = |line: &&str| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    lines().find(is_salient).or_else(|| lines().next())
}

/// The lines of a corrective prompt that name checks and problems of the previous attempt, without fixed sentences,
/// headings, delimiters and other output. If there are none, the first lines of the prompt.
fn prompt_excerpt(correction: &str, before: &[AttemptProblem]) -> Vec<String> {
    let is_fixed = |line: &&str| {
        line.is_empty()
            || line.starts_with("VERIFICATION RETRY")
            || line.starts_with("This is a fresh session.")
            || line.starts_with("Blocks fenced with ")
            || line.starts_with("<<<")
            || line.ends_with(">>>")
            || is_heading(line)
    };
    let names_problem = |line: &&&str| {
        let texts = before
            .iter()
            .map(|problem| problem.text.trim_end_matches('…'));
        let mut texts = texts.filter(|text| text.len() > 3);
        line.starts_with("- ") || texts.any(|text| line.contains(text))
    };
    let lines = correction.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("PASSED CHECKS"));
    let lines: Vec<&str> = lines.filter(|line| !is_fixed(line)).collect();
    let is_feedback = correction.contains("A REVIEWER REJECTED THE WORK:");
    let mut excerpt: Vec<&str> = lines.iter().filter(names_problem).copied().collect();
    // A reviewer's words come first and are not marked.
    if excerpt.is_empty() || is_feedback {
        excerpt.clone_from(&lines);
    }
    let excerpt = excerpt.into_iter().take(EXCERPT_LINES);
    excerpt
        .map(|line| single_line(line.trim_start_matches("- "), EXCERPT_CHARS))
        .collect()
}

/// A heading of the corrective prompt: `FAILED CHECKS:`.
fn is_heading(line: &str) -> bool {
    let Some((heading, _)) = line.split_once(':') else {
        return false;
    };
    let is_upper = |c: char| c.is_ascii_uppercase() || c == ' ';
    let heading = heading.split(" (").next().unwrap_or(heading);
    heading.len() > 4 && heading.chars().all(is_upper)
}
