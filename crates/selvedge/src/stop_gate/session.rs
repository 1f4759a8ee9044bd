//! The state of an agent's session between two calls of its hook, and what its events mean for it. Pure.
//!
//! The work is compared with the tree at the session's start. That tree moves forward only when a stop was accepted:
//! then the next prompt begins from the files at that moment, which may include changes of the user. As long as work
//! is not verified, the tree stays, so that a weakened test does not become the original one by another prompt.

use selvedge_core::model::{RunId, RunSpec, Timestamp, TreeId};
use serde::{Deserialize, Serialize};

use super::protocol::HookAgent;

/// The files from which the work began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartTrees {
    /// The workspace's.
    pub(super) workspace: TreeId,
    /// The whole repository's: checks in a part of it may read the rest.
    pub(super) repository: TreeId,
}

/// The work since a prompt, which becomes a run when the agent wants to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionTask {
    pub(super) run_id: RunId,
    /// With the settings at its start: later changes do not affect how it is judged.
    pub(super) spec: RunSpec,
    /// `None` without snapshots.
    pub(super) start: Option<StartTrees>,
    /// When the user's prompt came, or the last stop was refused.
    pub(super) working_since: Timestamp,
    /// Whether the run is in the journal.
    pub(super) is_run: bool,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GateSession {
    pub(super) agent: HookAgent,
    pub(super) id: String,
    /// `None` in a project without checks.
    pub(super) task: Option<SessionTask>,
    /// Whether the agent works on a prompt, or its last stop was not accepted.
    pub(super) is_unsettled: bool,
    /// The feedback of the last refusal, which some programs submit as a prompt.
    pub(super) last_feedback: Option<String>,
}

/// Meaning of a prompt or a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnStart {
    /// The program repeats the feedback of a refusal: the run continues.
    Continue,
    /// A new run, compared with the same tree as before.
    KeepStart,
    /// A new run from the present files.
    NewStart,
}

impl GateSession {
    pub(super) fn new(agent: HookAgent, id: &str) -> Self {
        Self {
            agent,
            id: id.to_owned(),
            task: None,
            is_unsettled: false,
            last_feedback: None,
        }
    }

    /// Meaning of the start of the session, which may also be a resume.
    pub(super) fn on_start(&self) -> TurnStart {
        match &self.task {
            Some(_) if self.is_unsettled => TurnStart::Continue,
            _ => TurnStart::NewStart,
        }
    }

    /// Meaning of a prompt.
    pub(super) fn on_prompt(&self, text: &str) -> TurnStart {
        let repeats = |feedback: &String| text.contains(feedback.trim());
        // Qwen Code also submits the results of tools, as empty prompts.
        let is_empty = text.trim().is_empty() && self.task.is_some();
        if is_empty || self.last_feedback.as_ref().is_some_and(repeats) {
            return TurnStart::Continue;
        }
        match &self.task {
            Some(_) if self.is_unsettled => TurnStart::KeepStart,
            _ => TurnStart::NewStart,
        }
    }

    /// Records that a stop was accepted, with these files.
    pub(super) fn settle(&mut self, start: Option<StartTrees>, next: RunId) {
        self.is_unsettled = false;
        self.last_feedback = None;
        if let Some(task) = &mut self.task {
            task.start = start.or(task.start.take());
            task.run_id = next;
            task.is_run = false;
        }
    }

    /// Records that the run ended without a verdict that accepts the work; what follows is compared with the same
    /// files.
    pub(super) fn end_run_unverified(&mut self, next: RunId) {
        self.is_unsettled = true;
        self.last_feedback = None;
        if let Some(task) = &mut self.task {
            task.run_id = next;
            task.is_run = false;
        }
    }
}
