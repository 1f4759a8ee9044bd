//! Agents: what does the work. One trait, one file for each way of speaking to one.
//!
//! An agent's account of itself ([`SessionOutcome`]) says how its session ended, never whether the
//! work is right: only checks say that. Trouble with a model's API is retried in here, with backoff
//! and jitter, and never counts as a verification retry.

mod acp;
mod aider;
mod api;
mod chat;
mod claude;
mod codex;
mod command;
mod experimental;
mod final_message;
mod gemini;
mod jsonl;
mod mini;
mod ollama;
mod opencode;
mod preflight;
mod program;
mod qwen;
mod retry;
mod shell;
mod spend_limit;

pub mod env;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use selvedge_core::model::{AgentKind, AgentSpec, MicroUsd, Prompt, SessionLimits, SessionOutcome};
use tokio_util::sync::CancellationToken;

use crate::activity::Progress;
use crate::process::Supervisor;

pub use acp::AcpAgent;
pub use aider::AiderAgent;
pub use api::ApiAgent;
pub use claude::ClaudeAgent;
pub use codex::CodexAgent;
pub use command::CommandAgent;
pub use experimental::{AmpAgent, CopilotAgent, CursorCliAgent, DroidAgent, GooseAgent};
pub use final_message::TEXT_LIMIT;
pub use gemini::GeminiAgent;
pub use mini::MiniSweAgent;
pub use ollama::OllamaAgent;
pub use opencode::OpenCodeAgent;
pub use preflight::{ProgramNotFoundError, check_program};
pub use qwen::QwenAgent;
pub use retry::Backoff;
pub use shell::ShellAgent;

/// All that one session gets. Sessions share nothing else: each starts fresh.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// Who.
    pub agent: AgentSpec,
    /// What it is told.
    pub prompt: Prompt,
    /// The end of what the attempt before said, for agents whose correction is a follow-up.
    pub previous_output: Option<String>,
    /// 1, 2, 3 …
    pub run_number: u32,
    /// What it is there for.
    pub role: SessionRole,
    /// How the names of its files begin: `attempt-2`.
    pub file_prefix: String,
    /// Where it works.
    pub workspace: PathBuf,
    /// Two clocks and a turn limit.
    pub limits: SessionLimits,
    /// What it may cost, by the caps of the run and of its attempts.
    pub cost_left: Option<MicroUsd>,
    /// The tokens that it may use, in and out, likewise.
    pub tokens_left: Option<u64>,
    /// Where prompt, transcript and stderr are written; exists.
    pub run_dir: PathBuf,
    /// Marks every process of the session in its environment: `<run>.<run_number>`.
    pub tag: String,
    /// Held by the supervisor for as long as anything of the tree lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: Supervisor,
}

/// What a session is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRole {
    /// To do the work: it reads and changes the workspace and runs commands.
    Implementer,
    /// To judge work that it is told of: it has no tools at all, or none that change anything where an
    /// agent cannot be without, and answers in JSON.
    Judge,
}

/// What does the work.
pub trait Agent: Send + Sync {
    /// Runs one session to its end. Never fails as such: what goes wrong is an outcome.
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome>;
}

/// What carries out the sessions of an agent so configured.
pub fn agent_for(spec: &AgentSpec) -> Box<dyn Agent> {
    match spec.kind {
        AgentKind::Claude => Box::new(ClaudeAgent::default()),
        AgentKind::Codex => Box::new(CodexAgent::default()),
        AgentKind::Gemini => Box::new(GeminiAgent::default()),
        AgentKind::Qwen => Box::new(QwenAgent::default()),
        AgentKind::Opencode => Box::new(OpenCodeAgent::default()),
        AgentKind::Aider => Box::new(AiderAgent::default()),
        AgentKind::Mini => Box::new(MiniSweAgent::default()),
        AgentKind::Cursor => Box::new(CursorCliAgent::default()),
        AgentKind::Amp => Box::new(AmpAgent::default()),
        AgentKind::Droid => Box::new(DroidAgent::default()),
        AgentKind::Copilot => Box::new(CopilotAgent::default()),
        AgentKind::Goose => Box::new(GooseAgent::default()),
        AgentKind::Acp => Box::new(AcpAgent),
        AgentKind::Ollama => Box::new(OllamaAgent::default()),
        AgentKind::Api => Box::new(ApiAgent::default()),
        AgentKind::Command => Box::new(CommandAgent),
        AgentKind::Shell => Box::new(ShellAgent),
    }
}
