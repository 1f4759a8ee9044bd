//! Summaries of runs for lists, folded from their events. They are derived data: a store keeps them next to the events
//! to list ten thousand runs quickly, and can rebuild them.

use std::path::PathBuf;

use selvedge_core::model::{
    AttemptEnd, Cost, Envelope, Event, Outcome, ParentPlan, PlanSpec, RunId, RunSpec, TaskId,
    Timestamp,
};
use serde::Serialize;

/// The status of a run according to its journal. It does not show whether a program is working on an open run
/// right now: the run's lock does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "standing")]
pub enum RunStatus {
    /// In progress, or interrupted without a final event.
    Open,
    /// Suspended in an orderly way.
    Suspended,
    /// Awaiting a review.
    AwaitingReview,
    /// Finished.
    Finished {
        /// The outcome.
        outcome: Outcome,
    },
}

/// The head of a task, from the frozen specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskHead {
    /// The task.
    pub task_id: TaskId,
    /// The workspace.
    pub workspace: PathBuf,
    /// The first non-empty line of the description, cut to [`TaskHead::MAX_DESCRIPTION_CHARS`] characters.
    pub description: String,
    /// The agent's name; `plan` for a plan.
    pub agent: String,
    /// Maximum number of attempts; for a plan, the number of its subtasks.
    pub max_attempts: u32,
    /// The plan that contains it.
    pub part_of: Option<ParentPlan>,
}

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// The run.
    pub run_id: RunId,
    /// Its last event's sequence number.
    pub last_seq: u64,
    /// When its first event was appended.
    pub created_at: Timestamp,
    /// When its last event was appended.
    pub updated_at: Timestamp,
    /// The task; absent if a later release wrote it in a form that this program cannot read.
    #[serde(flatten)]
    pub task: Option<TaskHead>,
    /// Number of attempts begun; for a plan, of its subtasks.
    pub attempts: u32,
    /// The run's status.
    #[serde(flatten)]
    pub status: RunStatus,
    /// The cost of its sessions so far.
    pub cost: Cost,
    /// Whether a session was started whose end and cost are not known yet.
    #[serde(skip)]
    pub session_open: bool,
}

impl TaskHead {
    /// Maximum length of a description in a list, in characters.
    pub const MAX_DESCRIPTION_CHARS: usize = 120;

    fn of(spec: &RunSpec) -> Self {
        Self {
            task_id: spec.task_id,
            workspace: spec.workspace.clone(),
            description: first_line(&spec.description),
            agent: spec.agent.name.clone(),
            max_attempts: spec.max_attempts(),
            part_of: spec.part_of.clone(),
        }
    }

    fn of_plan(plan: &PlanSpec) -> Self {
        Self {
            task_id: plan.task_id,
            workspace: plan.workspace.clone(),
            description: first_line(&plan.description),
            agent: "plan".to_owned(),
            max_attempts: u32::try_from(plan.subtasks.len()).unwrap_or(u32::MAX),
            part_of: None,
        }
    }
}

fn first_line(description: &str) -> String {
    let mut lines = description.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(TaskHead::MAX_DESCRIPTION_CHARS).collect()
}

impl RunSummary {
    /// Creates the summary from the run's first event.
    pub fn from_first_event(first: &Envelope) -> Self {
        let mut summary = Self {
            run_id: first.run_id,
            last_seq: first.seq,
            created_at: first.at,
            updated_at: first.at,
            task: None,
            attempts: 0,
            status: RunStatus::Open,
            cost: Cost::ZERO,
            session_open: false,
        };
        summary.apply_event(first);
        summary
    }

    /// Applies the run's next event.
    pub fn apply_event(&mut self, next: &Envelope) {
        self.last_seq = next.seq;
        self.updated_at = next.at;
        match &next.event {
            Event::RunCreated { spec } => self.task = Some(TaskHead::of(spec)),
            Event::AttemptBegan { attempt_number, .. } => {
                self.attempts = self.attempts.max(*attempt_number);
            }
            Event::PlanCreated { plan } => self.task = Some(TaskHead::of_plan(plan)),
            Event::SubtaskBegan { .. } => self.attempts += 1,
            Event::SubtaskEnded { end, .. } => self.cost = self.cost + end.cost,
            // Effects that cost money are recorded before they start. An interrupted judgement is repeated,
            // and the cost of the interrupted one is unknown.
            Event::EffectStarted { .. } => {
                if self.session_open {
                    self.cost = self.cost + Cost::UNKNOWN;
                }
                self.session_open = true;
            }
            Event::EffectFailed { .. } => self.session_open = false,
            Event::SessionEnded { outcome, .. } => {
                self.session_open = false;
                self.cost = self.cost + outcome.cost;
            }
            Event::GateJudged { gate, .. } => {
                self.session_open = false;
                self.cost = self.cost + gate.cost();
            }
            Event::AttemptClosed {
                closing: AttemptEnd::Interrupted,
                ..
            } if self.session_open => {
                // The cost of the interrupted session is unknown: the sum becomes a lower bound.
                self.session_open = false;
                self.cost = self.cost + Cost::UNKNOWN;
            }
            Event::Suspended => self.status = RunStatus::Suspended,
            Event::ReviewRequested { .. } => self.status = RunStatus::AwaitingReview,
            Event::Resumed { .. } | Event::Reviewed { .. } => self.status = RunStatus::Open,
            Event::RunFinished { outcome } => {
                self.status = RunStatus::Finished { outcome: *outcome }
            }
            _ => {}
        }
    }
}
