//! The attempts of a run as cards: the story on one screen.

use std::collections::BTreeMap;

use selvedge_core::format::{counted, duration};
use selvedge_core::run::Run;

use super::frame::short_cost;
use crate::diff::ChangeSummary;
use crate::story::{AttemptProblem, AttemptStory, RunStory, TestTally, Tone};
use crate::text::make_visible;

/// The changes of attempts, by their numbers.
pub(crate) type AttemptChanges = BTreeMap<u32, std::sync::Arc<ChangeSummary>>;

/// Maximum number of files named on a card.
const MAX_FILES: usize = 3;

/// An attempt as a card.
pub(crate) struct AttemptCard {
    pub(crate) number: u32,
    pub(crate) tone: &'static str,
    pub(crate) verdict: String,
    pub(crate) who: String,
    pub(crate) feedback: Vec<String>,
    pub(crate) changes: Option<ChangesView>,
    /// Kind of the problems: failures, or findings in work that may still be accepted.
    pub(crate) problems_label: &'static str,
    pub(crate) problems: Vec<AttemptProblem>,
    pub(crate) more_problems: usize,
    pub(crate) tally: Option<TallyView>,
    pub(crate) took: String,
    pub(crate) cost: String,
    pub(crate) is_best: bool,
    pub(crate) is_left: bool,
    pub(crate) has_trace: bool,
}

/// The changes of an attempt.
pub(crate) struct ChangesView {
    pub(crate) count: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) files: Vec<String>,
    pub(crate) more: usize,
    pub(crate) truncated: bool,
}

/// Failed and passed tests or checks.
pub(crate) struct TallyView {
    pub(crate) class: &'static str,
    pub(crate) words: String,
}

/// The facts that answer the first questions: which attempt is best, and whose files are left.
pub(crate) struct StoryFacts {
    pub(crate) best: Option<u32>,
    pub(crate) left: Option<String>,
    /// Failed tests or checks by attempt: "2", "1", "✓".
    pub(crate) progress: Vec<(u32, &'static str, String)>,
    pub(crate) of_tests: bool,
}

impl ChangesView {
    pub(crate) fn new(changes: &ChangeSummary) -> Self {
        let (added, removed) = changes.lines();
        // The files with most changes first; binary files have no lines.
        let mut files: Vec<_> = changes.files.iter().collect();
        files.sort_by_key(|(_, _, added, removed)| std::cmp::Reverse(added + removed));
        let files = files.into_iter().take(MAX_FILES);
        Self {
            count: counted(changes.files.len() as u64, "file"),
            added,
            removed,
            files: files.map(|(path, ..)| make_visible(path)).collect(),
            more: changes.files.len().saturating_sub(MAX_FILES),
            truncated: changes.truncated,
        }
    }
}

impl TallyView {
    pub(crate) fn new(tally: TestTally) -> Self {
        let noun = if tally.of_tests { "test" } else { "check" };
        let (class, words) = match (tally.failed, tally.passed) {
            (0, passed) => ("pass", format!("{} passed", counted(passed, noun))),
            (failed, 0) => ("fail", format!("{} failed", counted(failed, noun))),
            (failed, passed) => {
                let failed = counted(failed, noun);
                ("fail", format!("{failed} failed, {passed} passed"))
            }
        };
        Self { class, words }
    }
}

impl AttemptCard {
    pub(crate) fn new(
        attempt: &AttemptStory,
        story: &RunStory,
        run: &Run,
        changes: &AttemptChanges,
    ) -> Self {
        let number = attempt.number;
        let found = run.attempt(number);
        let session = found.and_then(|it| it.session.as_ref());
        let mut who = attempt.agent.clone();
        if let Some(model) = attempt.model.as_ref().filter(|it| **it != attempt.agent) {
            who.push_str(" · ");
            who.push_str(model);
        }
        let is_live = attempt.verdict.tone() == Tone::Live;
        Self {
            number,
            tone: attempt.verdict.tone().class(),
            verdict: attempt.verdict.words(),
            who,
            feedback: attempt.feedback.clone(),
            changes: changes.get(&number).map(|it| ChangesView::new(it)),
            problems_label: match attempt.verdict.tone() {
                Tone::Bad => "Failed",
                _ => "Found",
            },
            problems: attempt.problems.clone(),
            more_problems: attempt.more_problems,
            tally: attempt.tally.map(TallyView::new),
            took: duration(attempt.duration_ms),
            cost: attempt
                .cost
                .map_or_else(|| "cost not reported yet".to_owned(), short_cost),
            is_best: story.best == Some(number) && story.attempts.len() > 1 && !is_live,
            is_left: story.left == crate::story::WorkspaceTree::Attempt(number),
            has_trace: session.is_some_and(|it| it.transcript.is_some()) || is_live,
        }
    }
}

impl StoryFacts {
    pub(crate) fn new(story: &RunStory) -> Self {
        let tallies = story.attempts.iter();
        let tallies: Vec<(u32, TestTally)> = tallies
            .filter_map(|it| Some((it.number, it.tally?)))
            .collect();
        let of_tests = tallies.iter().all(|(_, tally)| tally.of_tests);
        let passes = |number: u32| {
            let attempt = story.attempt(number);
            attempt.is_some_and(|it| it.verdict.tone() != Tone::Bad)
        };
        let progress = tallies.iter().map(|(number, tally)| match tally.failed {
            0 if passes(*number) => (*number, "pass", "✓".to_owned()),
            // The checks pass, but it does not count.
            0 => (*number, "fail", "rejected".to_owned()),
            failed => (*number, "fail", failed.to_string()),
        });
        Self {
            best: story.best.filter(|_| story.attempts.len() > 1),
            left: story.left.words(),
            progress: progress.collect(),
            of_tests,
        }
    }
}
