//! One task carried out: from the place where it is done to the hub's word that its end is durable.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::machine::{Input, JournalState, RunControl};
use selvedge_core::model::{Outcome, RunId, TaskId, Timestamp};
use selvedge_core::protocol::{TaskAssign, TaskResult};
use selvedge_engine::{DriveError, Driver, RunContext, StopRequest};
use selvedge_store::fault;
use tokio::sync::watch;
use uuid::Uuid;

use super::activity::ActivityBuffer;
use super::deliver::prepare_result;
use super::event_sink::{FinalEntry, HubEventSink};
use super::lease::WorkerLease;
use super::outbox::{AsyncOutbox, OutboxError};
use super::recovery::RecoveredRun;
use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::HubClient;
use crate::launch;

/// How long a run may take to stop in order when its task is cancelled or the worker leaves.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Before a task is tried again that could be neither done nor given back.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// All that a task needs.
#[derive(Clone)]
pub(super) struct TaskRunner {
    pub(super) hub: HubClient,
    pub(super) outbox: AsyncOutbox,
    pub(super) work_dirs: WorkDirs,
    pub(super) environment: Arc<Vec<(String, String)>>,
    /// Set when the worker leaves without waiting for its tasks.
    pub(super) shutdown: watch::Receiver<bool>,
}

/// How a task left this worker.
#[derive(Debug)]
pub(super) enum TaskExit {
    /// The hub has its end.
    Done(Outcome),
    /// Given back.
    Released(String),
    /// The lease was over before.
    Lost(String),
}

/// Why a task goes no further here.
#[derive(Debug)]
pub(super) enum TaskError {
    /// Another try may do better, here or elsewhere.
    Retryable(String),
    /// Another run is at work in its folder: it waits for its turn.
    Busy(String),
    /// No try will.
    Permanent(String),
    /// The lease is over, or fenced off.
    Fenced,
}

impl From<OutboxError> for TaskError {
    fn from(error: OutboxError) -> Self {
        Self::Retryable(error.to_string())
    }
}

impl From<TaskWorkspaceError> for TaskError {
    fn from(error: TaskWorkspaceError) -> Self {
        match error {
            TaskWorkspaceError::Rejected(why) => Self::Permanent(why),
            TaskWorkspaceError::Retryable(why) => Self::Retryable(why),
            TaskWorkspaceError::Busy(why) => Self::Busy(why),
        }
    }
}

impl TaskRunner {
    /// Carries a task out, from wherever it stands.
    pub(super) async fn run_task(&self, assign: TaskAssign, lane: Arc<WorkerLease>) -> TaskExit {
        let id = assign.lease.task_id;
        let mut waits = false;
        loop {
            if !lane.wait_until_live().await {
                break lost_exit(&lane);
            }
            match Box::pin(self.run_once(&assign, &lane)).await {
                // Fenced, not lost: the hub may still say that the lease stands.
                Err(TaskError::Fenced) if lane.current_status().lost_reason.is_none() => {
                    crate::worker::log_line(&format!(
                        "task {}: out of touch with the hub, stopped",
                        id.short()
                    ));
                }
                Err(TaskError::Fenced) => break lost_exit(&lane),
                Err(TaskError::Retryable(reason)) => {
                    let last = FinalEntry::Release {
                        reason: reason.clone(),
                        charged: true,
                    };
                    if self.end_without_run(&lane, last).await {
                        break TaskExit::Released(reason);
                    }
                    // Not even that could be written down.
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(TaskError::Busy(reason)) => {
                    if !std::mem::replace(&mut waits, true) {
                        crate::worker::log_line(&format!("task {} waits: {reason}", id.short()));
                    }
                    if let Some(left) = self.end_waiting_task(&assign, &lane).await {
                        break left;
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(TaskError::Permanent(reason)) => {
                    let last = completion_without_run(&assign, &lane, Outcome::InfraFailed, reason);
                    if self.end_without_run(&lane, last).await {
                        break TaskExit::Done(Outcome::InfraFailed);
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Ok(left) => break left,
            }
        }
    }

    /// Ends a task that waits for its turn, where somebody wants that. One with attempts behind it is ended by
    /// its run, which knows of them.
    async fn end_waiting_task(
        &self,
        assign: &TaskAssign,
        lane: &Arc<WorkerLease>,
    ) -> Option<TaskExit> {
        let (last, left) = if *self.shutdown.borrow() {
            let reason = "the worker leaves".to_owned();
            let charged = false;
            let left = TaskExit::Released(reason.clone());
            (FinalEntry::Release { reason, charged }, left)
        } else {
            let reason = lane
                .current_status()
                .cancel_reason
                .filter(|_| !has_attempts(assign, lane))?;
            let last = completion_without_run(assign, lane, Outcome::Cancelled, reason);
            (last, TaskExit::Done(Outcome::Cancelled))
        };
        self.end_without_run(lane, last).await.then_some(left)
    }

    /// Nothing of the task is kept here any more.
    pub(super) async fn remove_task_data(&self, id: TaskId) {
        let ground = self.work_dirs.clone();
        let _ = tokio::task::spawn_blocking(move || ground.remove_task_dir(id)).await;
        if let Err(error) = self.outbox.with(move |it| it.remove_task(id)).await {
            crate::worker::log_line(&format!("task {}: {error}", id.short()));
        }
    }

    /// Ends a task of which nothing runs.
    async fn end_without_run(&self, lane: &Arc<WorkerLease>, last: FinalEntry) -> bool {
        let tap = Arc::new(ActivityBuffer::default());
        let stream = HubEventSink::new(
            Arc::clone(lane),
            self.outbox.clone(),
            tap,
            PathBuf::new(),
            None,
            JournalState::default(),
            Vec::new(),
        );
        stream.end_task(last, Vec::new()).await.unwrap_or(false)
    }

    async fn run_once(
        &self,
        assign: &TaskAssign,
        lane: &Arc<WorkerLease>,
    ) -> Result<TaskExit, TaskError> {
        let id = assign.lease.task_id;
        let (task, ground) = (assign.task.clone(), self.work_dirs.clone());
        let place = tokio::task::spawn_blocking(move || ground.open_task_workspace(&task, id));
        let place = place
            .await
            .map_err(|panic| TaskError::Retryable(panic.to_string()))?;
        let place = place?;
        let tap = Arc::new(ActivityBuffer::default());
        let RecoveredRun {
            state,
            first_input: first,
            inherited_journal: inherited,
        } = self.recover_run(assign, &place, &tap).await?;
        let workspace = place
            .open_workspace(&self.work_dirs)
            .map_err(TaskError::Retryable)?;
        let spec = match (&first, &state.run) {
            (Some(Input::Create { spec }), _) => spec.as_ref().clone(),
            (_, Some(run)) => (*run.spec).clone(),
            (_, None) => return Err(TaskError::Retryable("the run has no state".to_owned())),
        };
        let workspace = workspace.filter(|_| spec.snapshots);
        let site = place
            .build_run_context(&self.work_dirs, workspace.clone(), &spec)
            .await;
        let site = site.map_err(TaskError::Retryable)?;
        let stream = HubEventSink::new(
            Arc::clone(lane),
            self.outbox.clone(),
            Arc::clone(&tap),
            place.run_dir(),
            workspace,
            state.clone(),
            inherited,
        );
        let state = match first {
            None => state,
            Some(first) => {
                self.drive_run(id, state, first, &site, &stream, &tap, lane)
                    .await?
            }
        };
        self.report_end(assign, &place, &stream, &state).await
    }

    #[expect(clippy::too_many_arguments, reason = "all that a run stands on")]
    async fn drive_run(
        &self,
        id: TaskId,
        state: JournalState,
        first: Input,
        site: &RunContext,
        stream: &HubEventSink,
        tap: &ActivityBuffer,
        lane: &Arc<WorkerLease>,
    ) -> Result<JournalState, TaskError> {
        let run_id = RunId::from(id);
        if matches!(first, Input::Resume) {
            let dead = launch::ensure_no_leftover_processes(site, run_id).await;
            dead.map_err(|error| TaskError::Retryable(error.to_plain_text()))?;
        }
        lane.trace_event("drive_began");
        let (wish, stop) = watch::channel(None);
        let mut driver = Driver {
            sink: stream,
            context: site,
            observer: tap,
            now: Timestamp::now,
            stop,
        };
        let driven = tokio::select! {
            biased;
            driven = driver.drive(run_id, state, first) => Some(driven),
            () = lane.wait_until_over() => None,
            () = stream.flush_activity() => None,
            () = self.forward_stop_requests(lane, &wish) => None,
        };
        drop(driver);
        site.agents.shutdown().await;
        site.checks.shutdown().await;
        let driven = match driven {
            Some(Ok(state)) => Ok(state),
            Some(Err(DriveError::Fenced)) => Err(TaskError::Fenced),
            Some(Err(error)) => Err(TaskError::Retryable(error.to_string())),
            None => {
                fault::failpoint("worker.fenced");
                // What was dropped is ended by its supervisors: seen to be so before anything else begins.
                // Without the sweep: by now the run may be at work again, with another worker of this machine.
                if let Err(error) = launch::wait_for_own_processes(site).await {
                    crate::worker::log_line(&format!(
                        "task {}: {}",
                        id.short(),
                        error.to_plain_text()
                    ));
                }
                Err(TaskError::Fenced)
            }
        };
        lane.trace_event("drive_ended");
        driven
    }

    /// Passes wishes on for as long as the run goes on.
    async fn forward_stop_requests(
        &self,
        lane: &WorkerLease,
        wish: &watch::Sender<Option<StopRequest>>,
    ) {
        let mut standing = lane.subscribe();
        let mut leave = self.shutdown.clone();
        loop {
            let cancel = standing.borrow_and_update().cancel_reason.clone();
            let leaving = *leave.borrow_and_update();
            let wished = match (cancel, leaving) {
                (Some(reason), _) => Some(StopRequest::Cancel(reason)),
                (None, true) => Some(StopRequest::Suspend("the worker leaves".to_owned())),
                (None, false) => None,
            };
            if wished.is_some() && *wish.borrow() != wished {
                wish.send_replace(wished);
            }
            tokio::select! {
                changed = standing.changed() => if changed.is_err() { tokio::time::sleep(STOP_POLL_INTERVAL).await },
                changed = leave.changed() => if changed.is_err() { tokio::time::sleep(STOP_POLL_INTERVAL).await },
            }
        }
    }

    /// Hands in how the run ended, or stands.
    async fn report_end(
        &self,
        assign: &TaskAssign,
        place: &TaskWorkspace,
        stream: &HubEventSink,
        state: &JournalState,
    ) -> Result<TaskExit, TaskError> {
        let Some(run) = &state.run else {
            return Err(TaskError::Retryable("the run has no state".to_owned()));
        };
        let not_now = |error: Box<dyn std::error::Error + Send + Sync>| {
            TaskError::Retryable(error.to_string())
        };
        if !run.finished && run.review.is_none() {
            let reason = if run.control == RunControl::Suspended {
                "the worker leaves"
            } else {
                "the run stopped before its end"
            };
            let last = FinalEntry::Release {
                reason: reason.to_owned(),
                charged: run.control != RunControl::Suspended,
            };
            let told = stream.end_task(last, Vec::new()).await.map_err(not_now)?;
            return if told {
                Ok(TaskExit::Released(reason.to_owned()))
            } else {
                Err(TaskError::Fenced)
            };
        }
        let (result, files) = prepare_result(assign, place, run);
        let outcome = result.outcome;
        let last = FinalEntry::Complete {
            // The same however often it is sent: a task ends once for each of its grants.
            completion_id: format!("{}.{}", assign.lease.task_id, assign.lease.lease_epoch),
            result: Box::new(result),
        };
        if stream.end_task(last, files).await.map_err(not_now)? {
            Ok(TaskExit::Done(outcome))
        } else {
            Err(TaskError::Fenced)
        }
    }
}

fn has_attempts(assign: &TaskAssign, lane: &WorkerLease) -> bool {
    assign.last_run_number.max(lane.to_held_lease().run_number) > 0
}

/// The end of a task that no run of this worker has a result of.
fn completion_without_run(
    assign: &TaskAssign,
    lane: &WorkerLease,
    outcome: Outcome,
    reason: String,
) -> FinalEntry {
    let mut result = TaskResult::without_run(outcome, reason);
    if has_attempts(assign, lane) {
        result = result.with_unknown_cost();
    }
    FinalEntry::Complete {
        completion_id: Uuid::now_v7().to_string(),
        result: Box::new(result),
    }
}

fn lost_exit(lane: &WorkerLease) -> TaskExit {
    let reason = lane.current_status().lost_reason;
    TaskExit::Lost(reason.unwrap_or_else(|| "the worker ends".to_owned()))
}
