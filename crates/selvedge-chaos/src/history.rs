//! Everything observed about one round from outside: responses to clients, calls to the scripted
//! provider, workers' traces, and the final contents of the hubs' database.
//!
//! Times are microseconds of the machine's monotonic clock, which all processes of a round share.

use std::collections::BTreeMap;

use selvedge_protocol::lease::LeaseEvent;
use serde_json::Value;

/// The observations of one round.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Submissions as the client recorded them; a key that was submitted several times occurs several
    /// times.
    pub submissions: Vec<ClientSubmission>,
    /// Cancellations that were acknowledged.
    pub cancellations: Vec<ClientCancellation>,
    /// States of tasks that clients saw during the round.
    pub observations: Vec<ListedTask>,
    /// Lines of logs and journals that clients read during the round.
    pub lines: Vec<FetchedLine>,
    /// Reports that clients read during the round.
    pub reports_read: Vec<FetchedReport>,
    /// The scripted provider's ledger.
    pub calls: Vec<ProviderCall>,
    /// The traces of all workers.
    pub traces: Vec<WorkerTrace>,
    /// Times at which workers were paused.
    pub pauses: Vec<PauseInterval>,
    /// When each process ended, by process id.
    pub deaths: BTreeMap<i32, u64>,
    /// The tasks that each connected worker holds at the end of the round, by the worker's name.
    pub final_holdings: Vec<(String, Vec<String>)>,
    /// Number of tasks that each worker may carry out at a time.
    pub slots: usize,
    /// How long before its lease expires a worker stops its work.
    pub margin_us: u64,
    /// The tasks in the hubs' tables, by task id.
    pub tasks: BTreeMap<String, ObservedTask>,
}

/// A submission by a client, or a subtask of one.
#[derive(Debug, Clone, Default)]
pub struct ClientSubmission {
    /// Its idempotency key, which is also in the task's description.
    pub key: String,
    /// 0 to 9.
    pub priority: u8,
    /// Maximum number of attempts; for a plan, of all subtasks together.
    pub max_attempts: u32,
    /// Number of subtasks of a plan; 0 for any other task.
    pub subtask_count: usize,
    /// The task id in the hub's response; none without a response.
    pub task_id: Option<String>,
}

/// A cancellation that the hub acknowledged.
#[derive(Debug, Clone)]
pub struct ClientCancellation {
    /// Task id.
    pub task: String,
}

/// A task in a response to a list request.
#[derive(Debug, Clone)]
pub struct ListedTask {
    /// When the request was sent; the state was read between then and `received_us`.
    pub sent_us: u64,
    /// When the response arrived.
    pub received_us: u64,
    /// Task id.
    pub task: String,
    /// State of the task.
    pub state: String,
    /// Epoch of the latest assignment.
    pub epoch: u64,
}

/// A line of a log or an event of a journal, as a client read it.
#[derive(Debug, Clone)]
pub struct FetchedLine {
    /// Task id.
    pub task: String,
    /// Whether it is from the run's journal; otherwise from the hub's log.
    pub of_journal: bool,
    /// Its sequence number.
    pub seq: u64,
    /// Its content.
    pub event: Value,
}

/// A report, as a client read it.
#[derive(Debug, Clone)]
pub struct FetchedReport {
    /// Task id.
    pub task: String,
    /// Number of the attempt.
    pub run: u32,
    /// The body, byte for byte.
    pub body: String,
}

/// An agent's call to the provider. It lasts as long as the agent's process lives.
#[derive(Debug, Clone, Default)]
pub struct ProviderCall {
    /// Task id.
    pub task: String,
    /// Number of the attempt.
    pub run: u32,
    /// Name of the worker that started the agent.
    pub worker: String,
    /// When the call arrived.
    pub from_us: u64,
    /// When the connection ended; 0 while it is open.
    pub to_us: u64,
    /// Price that the provider charged, in micro-dollars.
    pub micro_usd: u64,
}

/// A line of a worker's trace.
#[derive(Debug, Clone)]
pub struct WorkerTrace {
    /// Name of the worker.
    pub worker: String,
    /// Process id of the worker.
    pub pid: i32,
    /// When it was written.
    pub at_us: u64,
    /// Task id.
    pub task: String,
    /// Epoch of the assignment.
    pub epoch: u64,
    /// The event.
    pub event: TraceEvent,
}

/// An event in a worker's trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// The worker began to work on a task.
    DriveBegan,
    /// The worker stopped; no process of the task is left.
    DriveEnded,
    /// The hub acknowledged all entries up to this one.
    Acked(u64),
    /// The worker recorded a report.
    Report {
        /// Sequence number of the entry that holds it.
        seq: u64,
        /// Number of the attempt.
        run: u32,
        /// The body, byte for byte.
        body: String,
    },
}

/// A time at which a worker's process, or the whole machine, was paused.
#[derive(Debug, Clone)]
pub struct PauseInterval {
    /// Name of the worker; none if the whole machine was paused.
    pub worker: Option<String>,
    /// Start of the pause.
    pub from_us: u64,
    /// End of the pause.
    pub to_us: u64,
}

/// A task as stored in the hubs' tables.
#[derive(Debug, Clone, Default)]
pub struct ObservedTask {
    /// Its description, which holds the submission's key.
    pub description: String,
    /// State: `queued`, `offered`, …
    pub state: String,
    /// Epoch: the number of assignments so far.
    pub epoch: u64,
    /// The worker that the task was last assigned to.
    pub worker: Option<String>,
    /// Number of the last attempt.
    pub last_run: u32,
    /// Number of the attempt that is open, if any.
    pub open_run: Option<u32>,
    /// Number of reports that count against the attempt limit.
    pub reports_counted: u32,
    /// Number of lost leases.
    pub losses: u32,
    /// Reason of the requested cancellation, if any.
    pub cancel: Option<String>,
    /// Id of the completion that was accepted.
    pub completion: Option<String>,
    /// Outcome of the task.
    pub outcome: Option<String>,
    /// 0 to 9.
    pub priority: u8,
    /// Position in the queue: creation time minus the credit for its priority, in milliseconds.
    pub rank: i64,
    /// Unix time in milliseconds, by the hub's clock.
    pub created_at: i64,
    /// Maximum number of attempts.
    pub max_attempts: u32,
    /// Sequence number of the last event in its journal.
    pub event_seq: u64,
    /// Sequence number of the last line in its log.
    pub log_seq: u64,
    /// The hub's log, with sequence numbers.
    pub log: Vec<(u64, LeaseEvent)>,
    /// Attempts, in the order of their numbers.
    pub runs: Vec<ObservedAttempt>,
    /// Stored reports.
    pub reports: Vec<ObservedReport>,
    /// The run's journal: sequence numbers, and events as JSON text.
    pub journal: Vec<(u64, String)>,
    /// Recorded costs.
    pub costs: Vec<ObservedCost>,
    /// Stored results: id of the completion, and body.
    pub results: Vec<(String, Value)>,
}

/// An attempt of a task.
#[derive(Debug, Clone)]
pub struct ObservedAttempt {
    /// Its number.
    pub number: u32,
    /// Epoch of the assignment under which it began.
    pub epoch: u64,
    /// How it was closed; none while it is open.
    pub closing: Option<String>,
}

/// A report as stored.
#[derive(Debug, Clone)]
pub struct ObservedReport {
    /// Number of the attempt.
    pub run: u32,
    /// Epoch of the assignment under which it was written.
    pub epoch: u64,
    /// SHA-256 of the body, as the hub recorded it.
    pub digest: Vec<u8>,
    /// The body, byte for byte.
    pub body: String,
}

/// The recorded cost of one call.
#[derive(Debug, Clone)]
pub struct ObservedCost {
    /// Number of the attempt.
    pub run: u32,
    /// Id of the call.
    pub call: String,
    /// Micro-dollars; none if the cost is unknown.
    pub micro_usd: Option<u64>,
}

impl ObservedTask {
    /// Whether the task is in a terminal state.
    pub fn is_over(&self) -> bool {
        matches!(
            self.state.as_str(),
            "succeeded" | "failed" | "cancelled" | "dead"
        )
    }

    /// Returns the worker that held the task when an attempt began.
    pub fn holder_at_run(&self, run: u32) -> Option<&str> {
        let mut holder = None;
        for (_, event) in &self.log {
            match event {
                LeaseEvent::Granted { worker, .. } => holder = Some(worker.as_str()),
                LeaseEvent::RunBegun { attempt_number } if *attempt_number == run => return holder,
                _ => {}
            }
        }
        None
    }

    /// Returns the idempotency key of the task's submission, from its description.
    pub fn submission_key(&self) -> Option<&str> {
        self.description
            .split_whitespace()
            .find_map(|word| word.strip_prefix("key="))
    }

    /// Returns the key of the plan that the task is a subtask of, and its number in the plan.
    pub fn plan_part(&self) -> Option<(&str, usize)> {
        let (plan, number) = self.submission_key()?.rsplit_once('.')?;
        Some((plan, number.parse().ok()?))
    }
}

impl History {
    /// Returns the subtasks of a plan that have begun, by their numbers; empty for any other task.
    pub fn subtasks_of<'a>(&'a self, plan: &'a ObservedTask) -> BTreeMap<usize, &'a ObservedTask> {
        let mine = |task: &'a ObservedTask| {
            let (of, number) = task.plan_part()?;
            (Some(of) == plan.submission_key()).then_some((number, task))
        };
        self.tasks.values().filter_map(mine).collect()
    }

    /// Returns the submission that a task came from.
    pub fn submission_of(&self, task: &ObservedTask) -> Option<&ClientSubmission> {
        let key = task.submission_key()?;
        self.submissions.iter().find(|submit| submit.key == key)
    }
}
