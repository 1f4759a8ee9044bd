//! What is going on, moment by moment: lossy, unsequenced, for people who watch.
//!
//! Nothing may depend on an activity having been seen. What must not be lost is an event.

use selvedge_core::model::{CheckStatus, Cost};

/// One thing that just happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// The agent says something.
    Text(String),
    /// The agent uses a tool.
    ToolStarted {
        /// The tool's name.
        name: String,
        /// What it is used on, in a few words: a path, a command line.
        subject: String,
    },
    /// A tool came back.
    ToolEnded {
        /// The tool's name, where it is known.
        name: String,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The model's API is tried again inside the executor. This is no verification retry.
    ApiRetry {
        /// Which retry.
        attempt: u32,
        /// How many there may be.
        max: u32,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// Why.
        reason: String,
    },
    /// What the session has cost so far: an estimate while it runs, where its model has a price; what
    /// the agent reports at the end.
    Cost(Cost),
    /// A check began.
    CheckStarted {
        /// Its label.
        label: String,
    },
    /// A check that failed is run again, to tell a flake from a failure.
    CheckRepeated {
        /// Its label.
        label: String,
    },
    /// A check ended.
    CheckEnded {
        /// Its label.
        label: String,
        /// What it says.
        status: CheckStatus,
        /// Why, in one line.
        reason: Option<String>,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Something worth a line.
    Note(String),
}

/// Where activities go. Must not block: drop what cannot be taken.
pub trait Progress: Send + Sync {
    /// Takes one activity.
    fn activity(&self, activity: Activity);
}

/// Takes every activity and keeps none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn activity(&self, _: Activity) {}
}
