//! Tests of agents with a model server over HTTP and programs over pipes. Their messages are scripted; the
//! communication and its consequences are real.

#![allow(clippy::unwrap_used)]

mod api;
mod claude;
mod command;
mod ollama;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use selvedge_core::model::{AgentKind, AgentSpec, Prompt, SessionLimits, SessionOutcome};
use selvedge_engine::activity::{Activity, NullProgress, Progress};
use selvedge_engine::agents::{Agent, SessionRequest, SessionRole};
use selvedge_engine::process::Supervisor;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Folders of one session: a workspace, a run's directory, and their common parent.
struct AgentFixture {
    root: TempDir,
}

impl AgentFixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["work", "run"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work().join(path)).unwrap()
    }

    fn request(&self, agent: AgentSpec) -> SessionRequest {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        SessionRequest {
            agent,
            prompt: Prompt {
                task: "Write the answer.".into(),
                correction: None,
            },
            previous_output: None,
            attempt_number: 1,
            role: SessionRole::Implementer,
            file_prefix: "attempt-1".into(),
            workspace: self.work(),
            limits: SessionLimits {
                wall_ms: 600_000,
                idle_timeout_ms: 600_000,
                max_turns: None,
            },
            cost_left: None,
            tokens_left: None,
            run_dir: self.root().join("run"),
            tag: format!("agents-{}.{number}", std::process::id()),
            lock: self.root().join("run/lock"),
            supervisor: Supervisor::new(
                env!("CARGO_BIN_EXE_selvedge-engine-probe"),
                ["__supervise".into()],
            ),
        }
    }
}

fn spec(kind: AgentKind) -> AgentSpec {
    AgentSpec {
        name: "tested".into(),
        kind,
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
    }
}

async fn run(agent: &impl Agent, request: &SessionRequest) -> SessionOutcome {
    agent
        .run(request, &NullProgress, &CancellationToken::new())
        .await
}

/// Cancels the session at its first activity.
#[derive(Default)]
struct CancelOnFirstActivity {
    cancel: CancellationToken,
}

impl Progress for CancelOnFirstActivity {
    fn on_activity(&self, _: Activity) {
        self.cancel.cancel();
    }
}
