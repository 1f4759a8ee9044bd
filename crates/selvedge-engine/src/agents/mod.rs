//! Agents: the programs that do the work. One trait, and one file for each kind of agent.
//!
//! An agent's own result ([`SessionOutcome`]) describes how its session ended, never whether the
//! work is right: only checks decide that. API failures are retried in this module, with backoff
//! and jitter, and never count as a verification retry.

mod acp;
mod aider;
mod api;
mod attempt;
mod chat;
mod claude;
mod codex;
mod command;
mod external;
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
mod usage_limit;

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
pub use external::ExternalAgent;
pub use final_message::TEXT_LIMIT;
pub use gemini::GeminiAgent;
pub use mini::MiniSweAgent;
pub use ollama::OllamaAgent;
pub use opencode::OpenCodeAgent;
pub use preflight::{ProgramNotFoundError, check_program};
pub use qwen::QwenAgent;
pub use retry::Backoff;
pub use shell::ShellAgent;

/// The input of one session. Sessions share nothing else: each starts fresh.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// The agent.
    pub agent: AgentSpec,
    /// The prompt.
    pub prompt: Prompt,
    /// The end of the previous attempt's output, for agents whose correction is a follow-up.
    pub previous_output: Option<String>,
    /// Number of the attempt, from 1.
    pub attempt_number: u32,
    /// The role of the session.
    pub role: SessionRole,
    /// Prefix of the names of its files, such as `attempt-2`.
    pub file_prefix: String,
    /// The folder in which it works.
    pub workspace: PathBuf,
    /// Two time limits and a turn limit.
    pub limits: SessionLimits,
    /// Remaining cost, by the caps of the run and of its attempts.
    pub cost_left: Option<MicroUsd>,
    /// Remaining tokens, input and output, by the same caps.
    pub tokens_left: Option<u64>,
    /// Folder for prompt, transcript and stderr; exists.
    pub run_dir: PathBuf,
    /// Marks every process of the session in its environment: `<run>.<attempt_number>`.
    pub tag: String,
    /// Locked by the supervisor while any process of the tree is alive.
    pub lock: PathBuf,
    /// Starts supervised processes.
    pub supervisor: Supervisor,
}

impl SessionRequest {
    /// The path of one of the session's files.
    fn session_file(&self, suffix: &str) -> PathBuf {
        self.run_dir.join(format!("{}.{suffix}", self.file_prefix))
    }
}

/// The role of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRole {
    /// Does the work: reads and changes the workspace and runs commands.
    Implementer,
    /// Judges the work described in its prompt. It has no tools, or only read-only ones if an agent
    /// cannot run without tools, and answers in JSON.
    Judge,
}

/// An agent: a program or model that does the work.
pub trait Agent: Send + Sync {
    /// Runs one session to its end. Does not return errors: failures are part of the outcome.
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome>;
}

/// The implementation for an agent with this configuration.
pub fn agent_for(spec: &AgentSpec) -> Box<dyn Agent> {
    match spec.kind {
        AgentKind::Claude => Box::new(ClaudeAgent::default()),
        AgentKind::Codex => Box::new(CodexAgent::default()),
        AgentKind::Gemini => Box::new(GeminiAgent::default()),
        AgentKind::Qwen => Box::new(QwenAgent::default()),
        AgentKind::Opencode => Box::new(OpenCodeAgent::default()),
        AgentKind::Aider => Box::new(AiderAgent::default()),
        AgentKind::Mini => Box::new(MiniSweAgent::default()),
        AgentKind::Acp => Box::new(AcpAgent),
        AgentKind::Ollama => Box::new(OllamaAgent::default()),
        AgentKind::Api => Box::new(ApiAgent::default()),
        AgentKind::Command => Box::new(CommandAgent),
        AgentKind::Shell => Box::new(ShellAgent),
        AgentKind::External => Box::new(ExternalAgent),
    }
}
