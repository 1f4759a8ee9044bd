//! Two attempts side by side: the feedback that each got, its changes, and its result.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::format::{counted, duration};
use selvedge_core::run::Run;

use super::diff::{FileDiffView, file_views};
use super::frame::{PageFrame, short_cost};
use super::story::TallyView;
use crate::backend::{DiffContent, TaskDetail};
use crate::diff::{ChangeSummary, words_deadline};
use crate::grid::{CheckGrid, GridCell};
use crate::story::{AttemptStory, RunStory, TestCell};
use crate::text::{make_visible, single_line};

/// Maximum number of rows of each diff.
const MAX_ROWS: usize = 1_500;

/// The page.
#[derive(Template)]
#[template(path = "compare.html")]
pub(crate) struct ComparePage {
    frame: PageFrame,
    id: String,
    title: String,
    numbers: Vec<u32>,
    sides: [SideView; 2],
    checks: Vec<(String, [Option<GridCell>; 2])>,
    tests: Vec<(String, [TestCell; 2])>,
    files: Vec<ComparedFile>,
}

/// One of the attempts.
struct SideView {
    number: u32,
    tone: &'static str,
    verdict: String,
    who: String,
    tally: Option<TallyView>,
    took: String,
    cost: String,
    correction: Option<String>,
    claim: Option<String>,
    problems: Vec<crate::story::AttemptProblem>,
    files: String,
    added: usize,
    removed: usize,
    truncated: bool,
}

/// The changes of a file since the start, in each attempt.
struct ComparedFile {
    path: String,
    same: bool,
    sides: [Option<FileDiffView>; 2],
}

impl ComparePage {
    pub(crate) fn new(
        frame: PageFrame,
        task: &TaskDetail,
        run: &Run,
        numbers: [u32; 2],
        [left, right]: &[DiffContent; 2],
        now: Timestamp,
    ) -> Option<Self> {
        let story = RunStory::from_run(run, now);
        let [first, second] = numbers;
        let stories = [story.attempt(first)?, story.attempt(second)?];
        let sides = [
            SideView::new(run, stories[0], left),
            SideView::new(run, stories[1], right),
        ];
        let grid = CheckGrid::from_run(run);
        let offset = usize::from(grid.baseline);
        let column = |number: u32| {
            let mut attempts = run.attempts.iter();
            attempts.position(|it| it.attempt_number == number)
        };
        let columns = [column(first)? + offset, column(second)? + offset];
        let checks = grid.rows.into_iter().map(|row| {
            let cell = |at: usize| row.cells.get(at).cloned().flatten();
            let cells = columns.map(cell);
            (row.label, cells)
        });
        let tests = story.tests.rows.into_iter().map(|row| {
            let cells = columns.map(|at| row.cells.get(at).copied().unwrap_or(TestCell::Unknown));
            (row.name, cells)
        });
        let with_tree = run.attempts.iter().filter(|it| it.tree.is_some());
        Some(Self {
            frame,
            id: task.row.id.clone(),
            title: single_line(&task.row.description, 120),
            numbers: with_tree.map(|it| it.attempt_number).collect(),
            checks: checks.collect(),
            tests: tests.collect(),
            files: compared_files(left, right),
            sides,
        })
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "templates pass references"
    )]
    fn is_side(&self, side: usize, number: &u32) -> bool {
        self.sides.get(side).is_some_and(|it| it.number == *number)
    }
}

impl ComparedFile {
    /// The changes, if they are the same in both attempts.
    fn shared(&self) -> Option<&FileDiffView> {
        self.sides.first()?.as_ref().filter(|_| self.same)
    }
}

impl SideView {
    fn new(run: &Run, story: &AttemptStory, diff: &DiffContent) -> Self {
        let attempt = run.attempt(story.number);
        let changes = ChangeSummary::of(&diff.bytes, diff.truncated);
        let (added, removed) = changes.lines();
        let correction = attempt.and_then(|it| it.prompt.correction.as_deref());
        let session = attempt.and_then(|it| it.session.as_ref());
        let claim = session.map(|session| single_line(&session.text, 600));
        Self {
            number: story.number,
            tone: story.verdict.tone().class(),
            verdict: story.verdict.words(),
            who: story.agent.clone(),
            tally: story.tally.map(TallyView::new),
            took: duration(story.duration_ms),
            cost: story.cost.map_or_else(|| "–".to_owned(), short_cost),
            correction: correction.map(make_visible),
            claim: claim.filter(|text| !text.is_empty()),
            problems: story.problems.clone(),
            files: counted(changes.files.len() as u64, "file"),
            added,
            removed,
            truncated: diff.truncated,
        }
    }
}

/// The files that at least one of the attempts changed, in the order of their paths.
fn compared_files(left: &DiffContent, right: &DiffContent) -> Vec<ComparedFile> {
    let mut files: Vec<ComparedFile> = Vec::new();
    let deadline = words_deadline();
    for (side, diff) in [left, right].into_iter().enumerate() {
        for view in file_views(diff, MAX_ROWS, &[], deadline) {
            let known = files.iter_mut().find(|it| it.path == view.path);
            let file = if let Some(known) = known {
                known
            } else {
                files.push(ComparedFile {
                    path: view.path.clone(),
                    same: false,
                    sides: [None, None],
                });
                let Some(last) = files.last_mut() else {
                    continue;
                };
                last
            };
            if let Some(place) = file.sides.get_mut(side) {
                *place = Some(view);
            }
        }
    }
    for file in &mut files {
        let text = |view: &Option<FileDiffView>| {
            let rows = view.iter().flat_map(|view| &view.rows);
            rows.map(|row| (row.class, row.text.as_str().to_owned()))
                .collect::<Vec<_>>()
        };
        let [left, right] = &file.sides;
        file.same = left.is_some() && text(left) == text(right);
    }
    // Files that differ first, and those without lines, such as binary files, last.
    let has_lines = |file: &ComparedFile| {
        let mut views = file.sides.iter().flatten();
        views.any(|view| view.added + view.removed > 0)
    };
    files.sort_by_key(|file| (file.same, !has_lines(file), file.path.clone()));
    files
}
