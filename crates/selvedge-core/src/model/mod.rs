//! The words of the design as types: task, check, report, result, event.
//!
//! These are the wire and journal types: snake case, unknown fields ignored on read, JSON Schema
//! derived. They hold no policy; what a report *means* is decided in [`crate::machine`].

mod agent;
mod crossed;
mod effect;
mod environment;
mod event;
mod gate;
mod ids;
mod known;
mod money;
mod outcome;
mod plan;
mod plugin;
mod processes;
mod report;
mod result;
mod review;
mod sandbox;
mod session;
mod setup;
mod spec;
mod task;
mod tools;
mod unkept;

pub use agent::{AgentKind, CostTold, Known};
pub use crossed::{CrossedReport, CrossedResult};
pub use effect::{EffectId, EffectKind, Once, SnapshotMoment};
pub use environment::EnvironmentSpec;
pub use event::{Closing, ENVELOPE_VERSION, Envelope, Event, Prompt};
pub use gate::{GateReport, Judgement, Judging};
pub use ids::{ParseIdError, RunId, TaskId, TreeId};
pub use jiff::Timestamp;
pub use known::KnownFailures;
pub use money::{Cost, CostSource, MicroUsd, Usage};
pub use outcome::{Outcome, VerificationStatus, exit_code};
pub use plan::{PlanResult, PlanSpec, PlannedSubtask, SubtaskEnd, SubtaskResult};
pub use plugin::{PLUGIN_VERSION, PluginReport, PluginRequest, PluginStatus};
pub use processes::{Processes, TreeMethod};
pub use report::{
    Baseline, CheckMarks, CheckReport, CheckStatus, Evidence, GuardReport, GuardStatus, OutputRef,
    Report, ReportStatus, ReportSummary,
};
pub use result::RunResult;
pub use review::{ReviewRecord, ReviewTarget, StaleReview};
pub use sandbox::{Backend, Container, Hold, Profile, Sandbox, SandboxSpec};
pub use session::{SessionOutcome, SessionStatus, ToolCall};
pub use setup::{SetupSpec, TaskSetup, is_dependency_input};
pub use spec::{
    AgentSpec, BaselineMode, BetweenAttempts, Budget, OnExhausted, PartOf, RunSpec, SessionLimits,
    SyntaxRules, VerificationPlan, VoteMode,
};
pub use task::{
    BeginsFrom, ComplexityTier, Deliver, LeftTree, RoutingDecision, Step, StepKind, Subtask, Task,
    TaskPart,
};
pub use tools::ToolFolderChanges;
pub use unkept::{Unkept, UnkeptFile};

/// What a failure is, defined once, by the digest that finds it.
pub use selvedge_digest::{Failure, FailureKind, Source, TestSummary};
