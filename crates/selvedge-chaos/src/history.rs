//! All that was observed of one round, from the outside: what clients were told, what the scripted
//! provider was asked, what workers traced, and what the hub's database holds in the end.
//!
//! Times are microseconds of the machine's monotonic clock, which all processes of a round share.

use std::collections::BTreeMap;

use selvedge_core::lease::LeaseEvent;
use serde_json::Value;

/// One round.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Submissions as their clients know them, by idempotency key; one key may stand several times.
    pub submissions: Vec<ClientSubmission>,
    /// Cancellations that were acknowledged.
    pub cancellations: Vec<ClientCancellation>,
    /// What clients saw of tasks meanwhile.
    pub observations: Vec<ListedTask>,
    /// Lines of logs and journals that clients read meanwhile.
    pub lines: Vec<FetchedLine>,
    /// Reports that clients read meanwhile.
    pub reports_read: Vec<FetchedReport>,
    /// The scripted provider's ledger.
    pub calls: Vec<ProviderCall>,
    /// What workers traced.
    pub traces: Vec<WorkerTrace>,
    /// Times at which a worker stood still.
    pub pauses: Vec<PauseInterval>,
    /// When a worker's process ended, by its id.
    pub deaths: BTreeMap<i32, u64>,
    /// What the hub says in the end that each worker holds: name, tasks.
    pub final_holdings: Vec<(String, Vec<String>)>,
    /// Tasks that each worker may carry out at a time.
    pub slots: usize,
    /// By how much a lease outlives the moment at which its worker ends its work.
    pub margin_us: u64,
    /// The hub's tables, by task.
    pub tasks: BTreeMap<String, ObservedTask>,
}

/// A submission.
#[derive(Debug, Clone, Default)]
pub struct ClientSubmission {
    /// Its idempotency key, which stands in the task's description, too.
    pub key: String,
    /// 0 to 9.
    pub priority: u8,
    /// Attempts that it may have: of a plan, all of its subtasks together.
    pub max_attempts: u32,
    /// Its subtasks, if it is a plan.
    pub subtask_count: usize,
    /// The task that the hub named; none when no answer came.
    pub task_id: Option<String>,
}

/// A cancellation that the hub acknowledged.
#[derive(Debug, Clone)]
pub struct ClientCancellation {
    /// The task.
    pub task: String,
}

/// A task as a list showed it.
#[derive(Debug, Clone)]
pub struct ListedTask {
    /// When the answer came.
    pub at_us: u64,
    /// The task.
    pub task: String,
    /// Its state.
    pub state: String,
    /// Its last grant.
    pub epoch: u64,
}

/// A line of a log or a journal, as it was read.
#[derive(Debug, Clone)]
pub struct FetchedLine {
    /// The task.
    pub task: String,
    /// Whether of the run's journal, else of the hub's log.
    pub of_journal: bool,
    /// Its number.
    pub seq: u64,
    /// What it said.
    pub event: Value,
}

/// A report, as it was read.
#[derive(Debug, Clone)]
pub struct FetchedReport {
    /// The task.
    pub task: String,
    /// The run.
    pub run: u32,
    /// Byte for byte.
    pub body: String,
}

/// One agent's call of the provider: it lasts for as long as the agent's process lives.
#[derive(Debug, Clone, Default)]
pub struct ProviderCall {
    /// The task.
    pub task: String,
    /// The attempt.
    pub run: u32,
    /// Whose agent called.
    pub worker: String,
    /// When it called.
    pub from_us: u64,
    /// When its connection ended.
    pub to_us: u64,
    /// What the provider charged, in micro-dollars.
    pub micro_usd: u64,
}

/// What a worker traced.
#[derive(Debug, Clone)]
pub struct WorkerTrace {
    /// Its name.
    pub worker: String,
    /// Its process.
    pub pid: i32,
    /// When.
    pub at_us: u64,
    /// The task.
    pub task: String,
    /// The grant.
    pub epoch: u64,
    /// What.
    pub event: TraceEvent,
}

/// What happened at a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEvent {
    /// A run goes to work.
    DriveBegan,
    /// Nothing of it is left.
    DriveEnded,
    /// The hub acknowledged an entry.
    Acked(u64),
    /// A report was written down as this entry.
    Report {
        /// The entry.
        seq: u64,
        /// The run.
        run: u32,
        /// Byte for byte.
        body: String,
    },
}

/// A time at which a worker's process, or the whole machine, stood still.
#[derive(Debug, Clone)]
pub struct PauseInterval {
    /// Whose; everybody's when none.
    pub worker: Option<String>,
    /// From when on.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
}

/// A task as the hub's tables have it.
#[derive(Debug, Clone, Default)]
pub struct ObservedTask {
    /// Its description, which holds the submission's key.
    pub description: String,
    /// `queued`, `offered`, …
    pub state: String,
    /// Grants.
    pub epoch: u64,
    /// The last holder.
    pub worker: Option<String>,
    /// The last run number.
    pub last_run: u32,
    /// The open one.
    pub open_run: Option<u32>,
    /// Reports that count.
    pub reports_counted: u32,
    /// Losses.
    pub losses: u32,
    /// Why it is to be stopped.
    pub cancel: Option<String>,
    /// The completion that counted.
    pub completion: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// 0 to 9.
    pub priority: u8,
    /// Its place in the queue.
    pub rank: i64,
    /// Milliseconds since 1970, by the hub's clock.
    pub created_at: i64,
    /// Attempts that it may have.
    pub max_attempts: u32,
    /// The last event of its journal.
    pub event_seq: u64,
    /// The last line of its log.
    pub log_seq: u64,
    /// The hub's log.
    pub log: Vec<(u64, LeaseEvent)>,
    /// Runs.
    pub runs: Vec<ObservedAttempt>,
    /// Reports.
    pub reports: Vec<ObservedReport>,
    /// The run's journal.
    pub journal: Vec<(u64, String)>,
    /// The ledger.
    pub costs: Vec<ObservedCost>,
    /// Results: the completion's id, and the body.
    pub results: Vec<(String, Value)>,
}

/// A run of a task.
#[derive(Debug, Clone)]
pub struct ObservedAttempt {
    /// Its number.
    pub number: u32,
    /// Under which grant it began.
    pub epoch: u64,
    /// How it was closed.
    pub closing: Option<String>,
}

/// A report as it is kept.
#[derive(Debug, Clone)]
pub struct ObservedReport {
    /// The run.
    pub run: u32,
    /// Under which grant.
    pub epoch: u64,
    /// SHA-256 as the hub noted it.
    pub digest: Vec<u8>,
    /// Byte for byte.
    pub body: String,
}

/// A line of the ledger.
#[derive(Debug, Clone)]
pub struct ObservedCost {
    /// The run.
    pub run: u32,
    /// The call.
    pub call: String,
    /// Micro-dollars; none when it is not known.
    pub micro_usd: Option<u64>,
}

impl ObservedTask {
    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        matches!(
            self.state.as_str(),
            "succeeded" | "failed" | "cancelled" | "dead"
        )
    }

    /// Who held it when a run began.
    pub fn holder_at_run(&self, run: u32) -> Option<&str> {
        let mut holder = None;
        for (_, event) in &self.log {
            match event {
                LeaseEvent::Granted { worker, .. } => holder = Some(worker.as_str()),
                LeaseEvent::RunBegun { run_number } if *run_number == run => return holder,
                _ => {}
            }
        }
        None
    }

    /// The key of the submission that it came from.
    pub fn submission_key(&self) -> Option<&str> {
        self.description
            .split_whitespace()
            .find_map(|word| word.strip_prefix("key="))
    }

    /// The key of the plan that it is a part of, and its number there.
    pub fn plan_part(&self) -> Option<(&str, usize)> {
        let (plan, number) = self.submission_key()?.rsplit_once('.')?;
        Some((plan, number.parse().ok()?))
    }
}

impl History {
    /// A plan's subtasks, as far as they have begun, by their numbers there; none of any other task.
    pub fn subtasks_of<'a>(&'a self, plan: &'a ObservedTask) -> BTreeMap<usize, &'a ObservedTask> {
        let mine = |task: &'a ObservedTask| {
            let (of, number) = task.plan_part()?;
            (Some(of) == plan.submission_key()).then_some((number, task))
        };
        self.tasks.values().filter_map(mine).collect()
    }

    /// The request that a task came from.
    pub fn submission_of(&self, task: &ObservedTask) -> Option<&ClientSubmission> {
        let key = task.submission_key()?;
        self.submissions.iter().find(|submit| submit.key == key)
    }
}
