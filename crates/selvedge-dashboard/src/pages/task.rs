//! One task: its status, the results of its attempts, and the possible actions.

use askama::Template;
use jiff::Timestamp;
use selvedge_core::describe::{cost, tokens};
use selvedge_core::format::duration;
use selvedge_core::model::{Cost, ReviewTarget, RunId, Usage};
use selvedge_core::plan::Plan;
use selvedge_core::run::{Phase, Run};
use selvedge_protocol::ReviewDecision;

use super::activity::ActivityItem;
use super::attempt::{AttemptView, ChecksView, checks_of};
use super::costs::{ModelCallCost, model_call_costs};
use super::frame::{PageFrame, StatusBadge, TimeLabel, cost_so_far, reviewed_work, short_cost};
use super::insights::source_address;
use super::story::{AttemptCard, AttemptChanges, StoryFacts};
use crate::backend::{
    DashboardUser, DisplayStatus, PendingReview, ReviewSubmission, SubtaskSummary, TaskDetail,
    TaskHistory,
};
use crate::charts;
use crate::grid::CheckGrid;
use crate::story::{RunStory, TestGrid};
use crate::text::{Markup, make_visible, single_line};

/// The page.
#[derive(Template)]
#[template(path = "task.html")]
pub(crate) struct TaskDetailPage {
    frame: PageFrame,
    id: String,
    short: String,
    title: String,
    /// The full description, if it is longer than the title.
    description: Option<String>,
    criteria: Option<String>,
    badge: StatusBadge,
    reason: String,
    doing: String,
    glance: Option<StoryFacts>,
    cards: Vec<AttemptCard>,
    tests: TestGrid,
    /// Label, value, and the page about it.
    facts: Vec<(String, String, Option<String>)>,
    created: TimeLabel,
    updated: TimeLabel,
    commands: Vec<(&'static str, String)>,
    rights: crate::backend::AllowedActions,
    review: Option<String>,
    pending: Option<PendingReviewView>,
    held: Option<HeldDecisionView>,
    grid: CheckGrid,
    baseline: ChecksView,
    attempts: Vec<AttemptView>,
    calls: Vec<ModelCallCost>,
    total: String,
    parts: Vec<SubtaskView>,
    live: Vec<ActivityItem>,
    live_attempt: u32,
    sandbox: String,
    warnings: Vec<String>,
    unknown: String,
    aside: Vec<String>,
    has_run: bool,
    /// Whether reports in other tools' formats can be downloaded.
    has_reports: bool,
    has_trees: bool,
    /// Two attempts to compare: the first and the last with a tree.
    compared: Option<(u32, u32)>,
    part_of: Option<(String, String)>,
    timeline: Vec<TimelineRow>,
}

/// A subtask of a plan.
struct SubtaskView {
    id: String,
    needs: String,
    link: Option<String>,
    badge: StatusBadge,
    reason: String,
    cost: String,
}

impl SubtaskView {
    fn new(part: &SubtaskSummary) -> Self {
        Self {
            id: single_line(&part.id, 60),
            needs: single_line(&part.needs.join(", "), 120),
            link: part.task.clone(),
            badge: part.status.into(),
            reason: single_line(&part.reason, 160),
            cost: part.cost.map_or_else(String::new, short_cost),
        }
    }
}

/// The work that a review form decides on.
struct PendingReviewView {
    task: String,
    work: String,
    attempt: String,
    tree: String,
}

impl PendingReviewView {
    fn new(pending: &PendingReview) -> Self {
        let ReviewTarget { attempt, tree } = &pending.target;
        Self {
            task: pending.task.clone(),
            work: reviewed_work(&pending.target),
            attempt: attempt.map_or_else(String::new, |number| number.to_string()),
            tree: tree.as_ref().map_or_else(String::new, ToString::to_string),
        }
    }
}

/// A review decision that is held back for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldDecision {
    pub(crate) user: DashboardUser,
    pub(crate) submission: ReviewSubmission,
    /// When it takes effect.
    pub(crate) due: Timestamp,
    /// Why it could not be carried out.
    pub(crate) failure: Option<String>,
}

/// A decision that has not taken effect yet.
struct HeldDecisionView {
    decision: String,
    reason: String,
    due: String,
    seconds: i64,
    failure: Option<String>,
}

impl HeldDecisionView {
    fn new(held: &HeldDecision, now: Timestamp) -> Self {
        let decision = match held.submission.review {
            ReviewDecision::Accept => "Accepted",
            ReviewDecision::Reject => "Rejected",
            ReviewDecision::Retry => "Rejected, with another attempt,",
        };
        Self {
            decision: format!("{decision} by {}", single_line(&held.user.name, 60)),
            reason: make_visible(&held.submission.reason),
            due: held.due.to_string(),
            seconds: held.due.duration_since(now).as_secs().max(0),
            failure: held.failure.as_deref().map(make_visible),
        }
    }
}

/// One row of the timeline.
struct TimelineRow {
    label: String,
    link: String,
    chart: Markup,
    words: String,
}

impl TaskDetailPage {
    pub(crate) fn new(
        frame: PageFrame,
        task: &TaskDetail,
        live: Vec<ActivityItem>,
        changes: &AttemptChanges,
        held: Option<&HeldDecision>,
        now: Timestamp,
    ) -> Self {
        let row = &task.row;
        let title = single_line(&row.description, 140);
        let whole = make_visible(task.description.trim());
        let part = row.part_of.as_ref();
        // Tabs show the state.
        let (sign, icon) = match row.status.icon() {
            "good" | "person" => ("✓", "icon-good"),
            "bad" => ("✗", "icon-bad"),
            "warn" => ("!", "icon-warn"),
            "live" => ("●", "icon-live"),
            _ => ("–", "icon"),
        };
        let frame = PageFrame {
            title: format!("{sign} {}", frame.title),
            icon,
            ..frame
        };
        let mut page = Self {
            frame,
            id: row.id.clone(),
            short: row.short.clone(),
            description: (whole != title).then_some(whole),
            criteria: None,
            title,
            badge: row.status.into(),
            reason: String::new(),
            doing: String::new(),
            glance: None,
            cards: Vec::new(),
            tests: TestGrid::default(),
            facts: facts(task),
            created: TimeLabel::of(row.created_at, now),
            updated: TimeLabel::of(row.updated_at, now),
            commands: task
                .commands
                .iter()
                .map(|(does, command)| (*does, make_visible(command)))
                .collect(),
            rights: task.rights,
            review: None,
            pending: task.review.as_ref().map(PendingReviewView::new),
            held: held.map(|held| HeldDecisionView::new(held, now)),
            grid: CheckGrid::default(),
            baseline: checks_of(&[]),
            attempts: Vec::new(),
            calls: Vec::new(),
            total: String::new(),
            parts: Vec::new(),
            live,
            live_attempt: 0,
            sandbox: make_visible(&task.sandbox),
            warnings: Vec::new(),
            unknown: make_visible(&task.unknown.join(", ")),
            aside: Vec::new(),
            has_run: false,
            has_reports: false,
            has_trees: false,
            compared: None,
            part_of: part.map(|it| (it.plan.to_string(), single_line(&it.subtask, 60))),
            timeline: Vec::new(),
        };
        match &task.history {
            TaskHistory::NotStarted => page.reason = make_visible(&row.reason),
            TaskHistory::Run(run) => page.add_run(run, row.status, changes, now),
            TaskHistory::Plan { plan, runs } => page.add_plan(plan, runs),
            TaskHistory::Subtasks { parts, has_patch } => {
                page.reason = make_visible(&row.reason);
                page.parts = parts.iter().map(SubtaskView::new).collect();
                page.has_reports = parts.iter().any(|part| part.task.is_some());
                page.has_trees = *has_patch;
            }
        }
        page
    }

    /// Whether a decision will take effect.
    fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|it| it.failure.is_none())
    }

    fn add_run(
        &mut self,
        run: &Run,
        status: DisplayStatus,
        changes: &AttemptChanges,
        now: Timestamp,
    ) {
        let story = RunStory::from_run(run, now);
        let attempts = story.attempts.iter();
        self.cards = attempts
            .map(|attempt| AttemptCard::new(attempt, &story, run, changes))
            .collect();
        self.glance = Some(StoryFacts::new(&story));
        self.tests = story.tests;
        let with_tree = || run.attempts.iter().filter(|it| it.tree.is_some());
        let ends = with_tree().next().zip(with_tree().next_back());
        let ends = ends.map(|(first, last)| (first.attempt_number, last.attempt_number));
        self.compared = ends.filter(|(first, last)| first != last);
        let (_, reason) = run.conclusion();
        if matches!(
            status,
            DisplayStatus::Finished(_) | DisplayStatus::Accepted | DisplayStatus::NeedsReview
        ) {
            self.reason = make_visible(&reason);
        } else {
            phase_description(run.phase()).clone_into(&mut self.doing);
        }
        self.criteria = run.spec.acceptance_criteria.as_deref().map(make_visible);
        self.review = run.review.as_deref().map(make_visible);
        self.grid = CheckGrid::from_run(run);
        let baseline = run.baseline.as_deref();
        self.baseline = checks_of(baseline.map_or(&[], |it| &it.checks));
        let open = run
            .open_attempt()
            .map_or(0, |attempt| attempt.attempt_number);
        self.live_attempt = open;
        let last = run
            .attempts
            .last()
            .map_or(0, |attempt| attempt.attempt_number);
        let on_hub = self.frame.has_fleet;
        self.attempts = run
            .attempts
            .iter()
            .map(|attempt| AttemptView::new(attempt, run, last, on_hub, now))
            .collect();
        self.calls = model_call_costs(run);
        let so_far = if run.finished { "" } else { " so far" };
        let total = if run.is_session_open() {
            run.cost() + Cost::UNKNOWN
        } else {
            run.cost()
        };
        self.total = cost(total) + so_far + &tokens_used(&run.usage());
        let warnings = run.warnings_besides_cost();
        self.warnings = warnings.iter().map(|it| make_visible(it)).collect();
        let short = run.run_id.short();
        // Backups on a worker's machine are not accessible.
        let aside = run.backup_trees.iter().filter(|_| !on_hub);
        self.aside = aside
            .map(|tree| format!("selvedge restore {short} --tree {tree}"))
            .collect();
        self.has_run = true;
        self.has_reports = true;
        let left = run.current_attempt();
        self.has_trees = run.start_tree.is_some() && left.is_some();
        self.timeline = timeline(run, now);
    }

    fn add_plan(&mut self, plan: &Plan, runs: &std::collections::BTreeMap<RunId, Run>) {
        let results = runs.iter().map(|(id, run)| (*id, run.result())).collect();
        let (_, reason) = plan.conclusion(&results);
        self.reason = make_visible(&reason);
        self.review = plan.review.as_deref().map(make_visible);
        self.has_reports = true;
        self.total = cost(plan.cost()) + &tokens_used(&plan.usage());
        let parts = plan.subtasks().map(|(subtask, part)| {
            let run = part.run_id.and_then(|id| runs.get(&id));
            let status = match (&part.end, run) {
                (Some(end), _) => DisplayStatus::Finished(end.outcome),
                (None, Some(run)) if run.review.is_some() => DisplayStatus::NeedsReview,
                (None, Some(_)) => DisplayStatus::Running,
                (None, None) => DisplayStatus::Queued,
            };
            let end = part.end.as_ref();
            SubtaskView::new(&SubtaskSummary {
                id: subtask.id.clone(),
                task: part.run_id.map(|id| id.to_string()),
                needs: subtask.depends_on.clone(),
                status,
                reason: end.map_or_else(String::new, |end| end.reason.clone()),
                cost: run.map(Run::cost),
            })
        });
        self.parts = parts.collect();
    }
}

fn facts(task: &TaskDetail) -> Vec<(String, String, Option<String>)> {
    let row = &task.row;
    let fact = |name: &str, value: String| (name.to_owned(), value, None);
    let page = |kind: &str, name: &str| Some(source_address(kind, name));
    let place = row.workspace.as_str();
    let mut facts = vec![
        fact("Agent", single_line(&row.agent, 60)),
        (
            if place.contains("://") {
                "Repository"
            } else {
                "Directory"
            }
            .to_owned(),
            make_visible(place),
            page("repository", place).filter(|_| !place.is_empty()),
        ),
        fact(
            "Attempts",
            format!("{} of {}", row.attempts, row.max_attempts),
        ),
        fact("Cost", cost_so_far(row.cost, row.status)),
    ];
    let model = row.model.as_deref();
    facts.extend(model.map(|name| fact("Model", single_line(name, 60))));
    let worker = row.worker.as_deref();
    let worker = worker.map(|name| {
        let shown = single_line(name, 60);
        ("Worker".to_owned(), shown, page("worker", name))
    });
    facts.extend(worker);
    let more = task.facts.iter();
    facts.extend(more.map(|(name, value)| fact(&single_line(name, 40), make_visible(value))));
    facts
}

fn phase_description(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "Taking a snapshot of the starting tree.",
        Phase::Baseline => "Running the baseline checks on the starting tree.",
        Phase::Executing(_) => "The agent is running.",
        Phase::Waiting => "Waiting until the usage limit of the agent's subscription is reset.",
        Phase::Sealing => "Taking a snapshot of the attempt's tree.",
        Phase::Verifying(_) => "The checks are running.",
        Phase::Judging(_) => "Judges are reviewing the attempt.",
        Phase::Restoring => "Restoring the tree for the next attempt.",
        Phase::Delivering => "Restoring the final tree.",
        Phase::AwaitingReview => "Awaiting review.",
        Phase::Between | Phase::Finished => "",
    }
}

/// When agent, checks and judges were running, one row per attempt.
fn timeline(run: &Run, now: Timestamp) -> Vec<TimelineRow> {
    let millis = |from: Timestamp, to: Timestamp| {
        let millis = to.duration_since(from).as_millis().max(0);
        f64::from(u32::try_from(millis).unwrap_or(u32::MAX))
    };
    let end = if run.finished || run.review.is_some() {
        run.updated_at
    } else {
        now
    };
    let whole = millis(run.created_at, end);
    let length = |millis: u64| f64::from(u32::try_from(millis).unwrap_or(u32::MAX));
    let mut lines = Vec::new();
    for attempt in &run.attempts {
        let began = millis(run.created_at, attempt.began_at);
        let mut parts = Vec::new();
        let mut words = Vec::new();
        match &attempt.session {
            Some(session) => {
                parts.push(("agent", began, length(session.duration_ms)));
                words.push(format!("agent {}", duration(session.duration_ms)));
            }
            None if attempt.end.is_none() => {
                parts.push(("agent", began, (whole - began).max(0.0)));
                words.push("agent running".to_owned());
            }
            None => words.push("interrupted".to_owned()),
        }
        if let Some(report) = &attempt.report {
            let from = millis(run.created_at, report.started_at);
            parts.push(("checks", from, length(report.duration_ms)));
            words.push(format!("checks {}", duration(report.duration_ms)));
            let mut judged = from + length(report.duration_ms);
            for gate in &report.gates {
                parts.push(("judges", judged, length(gate.duration_ms)));
                words.push(format!("tier {} {}", gate.tier, duration(gate.duration_ms)));
                judged += length(gate.duration_ms);
            }
        }
        let number = attempt.attempt_number;
        let words = words.join(", ");
        lines.push(TimelineRow {
            label: format!("attempt {number}"),
            link: format!("#attempt-{number}"),
            chart: charts::span(&parts, whole, &format!("attempt {number}: {words}")),
            words,
        });
    }
    lines
}

/// The tokens after a cost, if any were reported.
fn tokens_used(usage: &Usage) -> String {
    tokens(usage).map_or_else(String::new, |tokens| format!(" · {tokens}"))
}
