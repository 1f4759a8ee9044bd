//! Parsing of recorded output, without starting a process.

use std::path::PathBuf;
use std::time::Instant;

use selvedge_core::model::{
    AgentKind, AgentSpec, Prompt, SessionLimits, SessionOutcome, SessionStatus,
};

use super::SessionParser;
use crate::activity::Activity;
use crate::agents::{SessionRequest, SessionRole};
use crate::process::Supervisor;

/// A session of which only the recorded output is known.
pub(in crate::agents) struct RecordedSession<R> {
    reading: R,
    request: SessionRequest,
    /// Reported activities.
    pub(in crate::agents) activities: Vec<Activity>,
}

impl<R: SessionParser> RecordedSession<R> {
    pub(in crate::agents) fn read(lines: &str) -> Self {
        let mut reading = R::default();
        let mut activities = Vec::new();
        for line in lines.lines() {
            reading.parse_line(line.as_bytes(), &mut |activity| activities.push(activity));
        }
        Self {
            reading,
            request: request(),
            activities,
        }
    }

    /// The same session, of an agent with a configured model.
    pub(in crate::agents) fn of_model(mut self, model: &str) -> Self {
        self.request.agent.model = Some(model.to_owned());
        self
    }

    /// The outcome if the program exited with this code.
    pub(in crate::agents) fn exited(&self, code: i32) -> SessionOutcome {
        let by_exit = match code {
            0 => SessionOutcome::new(SessionStatus::Success),
            code => SessionOutcome::failed(SessionStatus::Failed, format!("exited with {code}")),
        };
        self.reading.outcome(&self.request, by_exit, None)
    }

    /// The outcome if a time limit ended the session after its last record.
    pub(in crate::agents) fn stopped(&self) -> SessionOutcome {
        let by_clock = SessionOutcome::failed(SessionStatus::Timeout, "stopped");
        let now = Some(Instant::now());
        self.reading.outcome(&self.request, by_clock, now)
    }

    pub(in crate::agents) fn in_vain(&self) -> Option<u32> {
        self.reading.transient_api_failures()
    }
}

/// A request that is never passed to a process.
pub(in crate::agents) fn request() -> SessionRequest {
    let nowhere = PathBuf::from("/nowhere");
    SessionRequest {
        agent: AgentSpec {
            name: "tested".into(),
            kind: AgentKind::Command,
            program: Vec::new(),
            model: None,
            base_url: None,
            env: std::collections::BTreeMap::new(),
            env_from: std::collections::BTreeMap::new(),
            api_retries: 0,
            deterministic: false,
            prompt_as_argument: false,
            server_by_repository: false,
            effort: None,
            max_turns: None,
            price: None,
        },
        prompt: Prompt {
            task: "Write the answer.".into(),
            correction: None,
        },
        previous_output: None,
        attempt_number: 1,
        role: SessionRole::Implementer,
        file_prefix: "attempt-1".into(),
        workspace: nowhere.clone(),
        limits: SessionLimits {
            wall_ms: 1,
            idle_timeout_ms: 1,
            max_turns: None,
        },
        cost_left: None,
        tokens_left: None,
        run_dir: nowhere.clone(),
        tag: "x.1".into(),
        lock: nowhere,
        supervisor: Supervisor::new("/nowhere", []),
    }
}
