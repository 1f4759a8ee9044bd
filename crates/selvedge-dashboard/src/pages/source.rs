//! The page of a repository or a worker: its latest tasks and its figures.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::format::{counted, percent_encode};

use super::fleet::WorkerView;
use super::frame::PageFrame;
use super::insights::{InsightsView, source_address};
use super::stats::period_links;
use super::tasks::TaskRowView;
use crate::backend::{TaskList, TaskQuery, WorkerSummary};
use crate::stats::StatsReport;
use crate::text::make_visible;

/// Number of tasks on the page.
const MAX_TASKS: usize = 8;

/// The subject of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A repository or workspace.
    Repository,
    /// A worker.
    Worker,
}

impl SourceKind {
    /// The tasks of a repository or worker.
    pub(crate) fn query(self, name: &str, days: Option<u32>) -> TaskQuery {
        let (place, worker) = match self {
            Self::Repository => (name.to_owned(), String::new()),
            Self::Worker => (String::new(), name.to_owned()),
        };
        TaskQuery {
            place,
            worker,
            days,
            page: 1,
            ..TaskQuery::default()
        }
    }
}

/// The page.
#[derive(Template)]
#[template(path = "source.html")]
pub(crate) struct SourcePage {
    frame: PageFrame,
    name: String,
    kind: &'static str,
    /// The parent page.
    back: (&'static str, &'static str),
    count: String,
    /// The list of all its tasks.
    all: String,
    /// The form of a new task for the repository.
    new_task: Option<String>,
    /// The worker, if it is known now.
    worker: Option<WorkerView>,
    tasks: Vec<TaskRowView>,
    spans: Vec<(String, &'static str, bool)>,
    insights: InsightsView,
}

impl SourcePage {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of one page"
    )]
    pub(crate) fn new(
        frame: PageFrame,
        kind: SourceKind,
        name: &str,
        query: &TaskQuery,
        tasks: &TaskList,
        figures: &StatsReport,
        worker: Option<&WorkerSummary>,
        now: Timestamp,
    ) -> Self {
        let can_submit = frame.has_fleet && kind == SourceKind::Repository;
        let field = if name.contains(':') {
            "repository"
        } else {
            "workspace"
        };
        let (page, back) = match kind {
            SourceKind::Repository => ("repository", ("/stats", "Insights")),
            SourceKind::Worker => ("worker", ("/fleet", "Workers")),
        };
        let mut insights = InsightsView::new(figures, query);
        // A table about the repository or worker itself would have one row.
        let own = match kind {
            SourceKind::Repository => "directory",
            SourceKind::Worker => "worker",
        };
        insights
            .tables
            .retain(|table| table.columns.first() != Some(&own));
        Self {
            frame,
            name: make_visible(name),
            kind: page,
            back,
            count: counted(tasks.matching as u64, "task"),
            all: query.address(),
            new_task: can_submit.then(|| format!("/new?{field}={}", percent_encode(name, b"-._~"))),
            worker: worker.map(|worker| WorkerView::new(worker, now)),
            tasks: tasks
                .rows
                .iter()
                .take(MAX_TASKS)
                .map(|row| TaskRowView::new(row, now))
                .collect(),
            spans: period_links(&source_address(page, name), query.days),
            insights,
        }
    }
}
