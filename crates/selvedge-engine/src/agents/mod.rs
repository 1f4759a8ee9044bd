//! Agents: what does the work. One trait, one file for each way of speaking to one.
//!
//! An agent's account of itself ([`SessionOutcome`]) says how its session ended, never whether the
//! work is right: only checks say that. Trouble with a model's API is retried in here, with backoff
//! and jitter, and never counts as a verification retry.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use selvedge_core::model::{AgentSpec, MicroUsd, Prompt, SessionLimits, SessionOutcome};
use tokio_util::sync::CancellationToken;

use crate::activity::Progress;
use crate::process::Supervisor;

/// All that one session gets. Sessions share nothing else: each starts fresh.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// Who.
    pub agent: AgentSpec,
    /// The task's own command line, for a shell agent.
    pub command: Option<String>,
    /// What it is told.
    pub prompt: Prompt,
    /// The end of what the attempt before said, for agents whose correction is a follow-up.
    pub previous_output: Option<String>,
    /// 1, 2, 3 …
    pub run_number: u32,
    /// Where it works.
    pub workspace: PathBuf,
    /// Two clocks and a turn limit.
    pub limits: SessionLimits,
    /// What is left of the run's cap on cost.
    pub cost_left: Option<MicroUsd>,
    /// Where prompt, transcript and stderr are written; exists.
    pub run_dir: PathBuf,
    /// Marks every process of the session in its environment: `<run>.<run_number>`.
    pub tag: String,
    /// Held by the supervisor for as long as anything of the tree lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: Supervisor,
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
