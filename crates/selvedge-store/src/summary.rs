//! What a list of runs shows of each, folded from the run's events. It is derived: a store keeps it
//! beside the events so that a list of ten thousand runs is quick, and can make it anew from them.

use std::path::PathBuf;

use selvedge_core::model::{
    AttemptEnd, Cost, Envelope, Event, Outcome, ParentPlan, PlanSpec, RunId, RunSpec, TaskId,
    Timestamp,
};
use serde::Serialize;

/// How a run stands, as its journal knows. Whether a program is at work on an open run right now is
/// not the journal's to say: the run's lock says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "standing")]
pub enum RunStatus {
    /// Under way, or cut off without a word.
    Open,
    /// Stopped for now, in order.
    Suspended,
    /// A person has to decide.
    AwaitingReview,
    /// Over.
    Finished {
        /// How it ended.
        outcome: Outcome,
    },
}

/// What was asked for, from the frozen specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskHead {
    /// The task.
    pub task_id: TaskId,
    /// Directory of the work.
    pub workspace: PathBuf,
    /// The first line of the description that says anything, cut to [`TaskHead::MAX_DESCRIPTION_CHARS`]
    /// characters.
    pub description: String,
    /// The agent's name; of a plan `plan`.
    pub agent: String,
    /// Attempts that may be charged; of a plan its subtasks.
    pub max_attempts: u32,
    /// The plan that it is a part of.
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
    /// What was asked for; absent when a later release wrote it in a form that is not understood.
    #[serde(flatten)]
    pub task: Option<TaskHead>,
    /// Attempts begun; of a plan its subtasks.
    pub attempts: u32,
    /// How it stands.
    #[serde(flatten)]
    pub standing: RunStatus,
    /// What its sessions have cost so far.
    pub cost: Cost,
    /// Whether a session was started whose end, and cost, is not known yet.
    #[serde(skip)]
    pub session_open: bool,
}

impl TaskHead {
    /// Longest description in a list, in characters.
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
    /// The summary of a run whose first event this is.
    pub fn from_first_event(first: &Envelope) -> Self {
        let mut summary = Self {
            run_id: first.run_id,
            last_seq: first.seq,
            created_at: first.at,
            updated_at: first.at,
            task: None,
            attempts: 0,
            standing: RunStatus::Open,
            cost: Cost::ZERO,
            session_open: false,
        };
        summary.apply_event(first);
        summary
    }

    /// Takes the run's next event into account.
    pub fn apply_event(&mut self, next: &Envelope) {
        self.last_seq = next.seq;
        self.updated_at = next.at;
        match &next.event {
            Event::RunCreated { spec } => self.task = Some(TaskHead::of(spec)),
            Event::AttemptBegan { run_number, .. } => {
                self.attempts = self.attempts.max(*run_number);
            }
            Event::PlanCreated { plan } => self.task = Some(TaskHead::of_plan(plan)),
            Event::SubtaskBegan { .. } => self.attempts += 1,
            Event::SubtaskEnded { end, .. } => self.cost = self.cost + end.cost,
            // What costs money is started before it is done. A judgement that was cut off is begun
            // anew, and nobody knows what it had cost by then.
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
                // It was cut off and nobody knows what it had cost by then: the sum stays as a
                // lower bound and says so.
                self.session_open = false;
                self.cost = self.cost + Cost::UNKNOWN;
            }
            Event::Suspended => self.standing = RunStatus::Suspended,
            Event::ReviewRequested { .. } => self.standing = RunStatus::AwaitingReview,
            Event::Resumed { .. } | Event::Reviewed { .. } => self.standing = RunStatus::Open,
            Event::RunFinished { outcome } => {
                self.standing = RunStatus::Finished { outcome: *outcome }
            }
            _ => {}
        }
    }
}
