//! The data model: task, check, report, result, event.
//!
//! These are the wire and journal types: snake case, unknown fields ignored on read, JSON Schema derived. They contain
//! no policy; [`crate::machine`] decides what a report *means*.

mod agent;
mod crossed;
mod effect;
mod environment;
mod event;
mod excluded;
mod finding;
mod gate;
mod ids;
mod known_failures;
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
mod usage_limit;

pub use agent::{AgentCapabilities, AgentKind, CostReporting, PRECONFIGURED_PROGRAMS};
pub use crossed::{CrossedReport, CrossedResult};
pub use effect::{EffectId, EffectKind, RetryPolicy, SnapshotReason};
pub use environment::EnvironmentSpec;
pub use event::{AttemptEnd, ENVELOPE_VERSION, Envelope, Event, Prompt};
pub use excluded::{ExcludedContent, ExcludedFile};
pub use finding::{
    Finding, FindingAction, FindingKind, FindingSeverity, ProtectionPolicy, ProtectionRule,
};
pub use gate::{GateReport, Judgement, JudgingSpec};
pub use ids::{ParseIdError, ParseTreeIdError, RunId, TaskId, TreeId};
pub use jiff::Timestamp;
pub use known_failures::KnownFailures;
pub use money::{Cost, CostSource, MicroUsd, Price, Usage};
pub(crate) use outcome::UNCHANGED_REASON;
pub use outcome::{Outcome, VerificationStatus, exit_code};
pub use plan::{PlanResult, PlanSpec, PlannedSubtask, SubtaskEnd, SubtaskResult};
pub use plugin::{PLUGIN_VERSION, PluginReport, PluginRequest, PluginStatus};
pub use processes::{CleanupMethod, ProcessCleanup};
pub use report::{
    Baseline, CheckMarks, CheckReport, CheckStatus, Evidence, GuardReport, GuardStatus, OutputRef,
    Report, ReportStatus, ReportSummary,
};
pub use result::RunResult;
pub use review::{ReviewRecord, ReviewTarget, StaleReviewError};
pub use sandbox::{
    ContainerSpec, Restriction, SandboxBackend, SandboxProfile, SandboxReport, SandboxSpec,
};
pub use session::{SessionOutcome, SessionStatus, ToolCall};
pub use setup::{SetupSpec, TaskSetup, is_dependency_input};
pub use spec::{
    AgentSpec, BaselineMode, BetweenAttempts, Budget, OnExhausted, ParentPlan, RunSpec,
    SessionLimits, SyntaxRules, VerificationPlan, VoteStrategy,
};
pub use task::{
    BaseTree, ComplexityTier, DeliveryMode, PlanMembership, RoutingDecision, Step, StepKind,
    Subtask, SubtaskTree, Task,
};
pub use tools::ToolFolderChanges;
pub use usage_limit::{OnUsageLimit, UsageLimit, UsageLimitPolicy};

/// Failures, defined in the digest crate.
pub use selvedge_digest::{Failure, FailureKind, FailureSource, TestSummary};
