//! Runs one task, from preparing its workspace until the hub has stored its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{Outcome, RunId, TaskId, Timestamp};
use selvedge_core::run::{Run, RunControl};
use selvedge_engine::{DriveError, Driver, RunContext, StopRequest, wait_until};
use selvedge_protocol::{EntryKind, TaskAssign, TaskCompletion, TaskRelease, TaskResult};
use selvedge_store::fault;
use tokio::sync::watch;
use uuid::Uuid;

use super::activity::ActivityBuffer;
use super::deliver::prepare_result;
use super::event_sink::HubEventSink;
use super::lease::{LeaseTable, WorkerLease};
use super::outbox::{AsyncOutbox, OutboxError};
use super::recovery::RecoveredRun;
use super::task_workspace::{TaskWorkspace, TaskWorkspaceError, WorkDirs};
use crate::hub_client::HubClient;
use crate::launch;
use crate::telemetry::Telemetry;

/// Delay before stop requests are checked again if their channel is closed.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Delay before a task that can neither run nor be released is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub(super) struct TaskRunner {
    pub(super) hub: HubClient,
    pub(super) outbox: AsyncOutbox,
    pub(super) work_dirs: WorkDirs,
    pub(super) environment: Arc<Vec<(String, String)>>,
    /// Whether the worker stops without waiting for its tasks.
    pub(super) shutdown: watch::Receiver<bool>,
    pub(super) leases: LeaseTable,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) slots: usize,
}

/// How a task ended on this worker.
#[derive(Debug)]
pub(super) enum TaskExit {
    /// The hub has stored the end of the run.
    Done(Outcome),
    /// The task was released.
    Released(String),
    /// The lease ended before.
    Lost(String),
}

/// How the wait for a usage limit ended.
enum UsageLimitWait {
    /// The limit is reset, and the task has a slot again.
    Over,
    /// The task was cancelled.
    Cancelled(String),
    /// The worker stops.
    ShuttingDown,
    /// The lease has ended, or its deadline has passed.
    LeaseLost,
}

/// Why a task cannot continue on this worker.
#[derive(Debug)]
pub(super) enum TaskError {
    /// It may succeed later, here or on another worker.
    Retryable(String),
    /// Another run uses its folder: the task waits.
    Busy(String),
    /// This worker cannot run it, for example because its agent is not installed; another one may be able to.
    Unsuitable(String),
    /// It cannot succeed.
    Permanent(String),
    /// The lease has ended, or its deadline has passed.
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
            TaskWorkspaceError::Unsuitable(why) => Self::Unsuitable(why),
        }
    }
}

impl TaskRunner {
    /// Runs a task from its current state.
    pub(super) async fn run_task(
        &self,
        assign: TaskAssign,
        worker_lease: Arc<WorkerLease>,
    ) -> TaskExit {
        let id = assign.lease.task_id;
        let mut is_waiting = false;
        loop {
            if !worker_lease.wait_until_live().await {
                break lost_exit(&worker_lease);
            }
            match Box::pin(self.run_once(&assign, &worker_lease)).await {
                // The deadline has passed, but the hub may still confirm the lease.
                Err(TaskError::Fenced) if worker_lease.current_status().lost_reason.is_none() => {
                    tracing::warn!(
                        "task {}: no contact with the hub before the lease deadline, stopped",
                        id.short()
                    );
                }
                Err(TaskError::Fenced) => break lost_exit(&worker_lease),
                Err(TaskError::Retryable(reason)) => {
                    let last = EntryKind::Release(TaskRelease {
                        reason: reason.clone(),
                        charged: true,
                        declined: false,
                    });
                    if self.end_without_run(&worker_lease, last).await {
                        break TaskExit::Released(reason);
                    }
                    // Not even the release could be written.
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(TaskError::Unsuitable(reason)) => {
                    let last = EntryKind::Release(TaskRelease {
                        reason: reason.clone(),
                        charged: true,
                        declined: true,
                    });
                    if self.end_without_run(&worker_lease, last).await {
                        break TaskExit::Released(reason);
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(TaskError::Busy(reason)) => {
                    if !std::mem::replace(&mut is_waiting, true) {
                        tracing::info!("task {} is waiting: {reason}", id.short());
                    }
                    if let Some(exit) = self.end_waiting_task(&assign, &worker_lease).await {
                        break exit;
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Err(TaskError::Permanent(reason)) => {
                    let last = completion_without_run(
                        &assign,
                        &worker_lease,
                        Outcome::InfraFailed,
                        reason,
                    );
                    if self.end_without_run(&worker_lease, last).await {
                        break TaskExit::Done(Outcome::InfraFailed);
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
                Ok(exit) => break exit,
            }
        }
    }

    /// Ends a waiting task if it was cancelled or the worker stops. A cancelled task with attempts is ended by its run,
    /// which knows their results.
    async fn end_waiting_task(
        &self,
        assign: &TaskAssign,
        worker_lease: &Arc<WorkerLease>,
    ) -> Option<TaskExit> {
        let (last, exit) = if *self.shutdown.borrow() {
            let reason = "the worker is shutting down".to_owned();
            let charged = false;
            let exit = TaskExit::Released(reason.clone());
            let release = TaskRelease {
                reason,
                charged,
                declined: false,
            };
            (EntryKind::Release(release), exit)
        } else {
            let reason = worker_lease
                .current_status()
                .cancel_reason
                .filter(|_| !has_attempts(assign, worker_lease))?;
            let last = completion_without_run(assign, worker_lease, Outcome::Cancelled, reason);
            (last, TaskExit::Done(Outcome::Cancelled))
        };
        self.end_without_run(worker_lease, last)
            .await
            .then_some(exit)
    }

    /// Removes all data of the task from this worker.
    pub(super) async fn remove_task_data(&self, id: TaskId) {
        let work_dirs = self.work_dirs.clone();
        let _ = tokio::task::spawn_blocking(move || work_dirs.remove_task_dir(id)).await;
        if let Err(error) = self.outbox.with(move |it| it.remove_task(id)).await {
            tracing::error!("task {}: {error}", id.short());
        }
    }

    /// Ends a task that has no running run.
    async fn end_without_run(&self, worker_lease: &Arc<WorkerLease>, last: EntryKind) -> bool {
        let activity = Arc::new(ActivityBuffer::default());
        let sink = HubEventSink::new(
            Arc::clone(worker_lease),
            self.outbox.clone(),
            activity,
            PathBuf::new(),
            None,
            JournalState::default(),
            Vec::new(),
        );
        sink.end_task(last, Vec::new()).await.unwrap_or(false)
    }

    async fn run_once(
        &self,
        assign: &TaskAssign,
        worker_lease: &Arc<WorkerLease>,
    ) -> Result<TaskExit, TaskError> {
        let id = assign.lease.task_id;
        let (task, work_dirs) = (assign.task.clone(), self.work_dirs.clone());
        let task_workspace =
            tokio::task::spawn_blocking(move || work_dirs.open_task_workspace(&task, id));
        let task_workspace = task_workspace
            .await
            .map_err(|panic| TaskError::Retryable(panic.to_string()))?;
        let task_workspace = task_workspace?;
        let activity = Arc::new(ActivityBuffer::default());
        let RecoveredRun {
            state,
            first_input: first,
            inherited_journal,
        } = self.recover_run(assign, &task_workspace, &activity).await?;
        let workspace = task_workspace
            .open_workspace(&self.work_dirs)
            .map_err(|error| TaskError::Retryable(error.to_string()))?;
        let spec = match (&first, &state.run) {
            (Some(Input::Create { spec }), _) => spec.as_ref().clone(),
            (_, Some(run)) => (*run.spec).clone(),
            (_, None) => return Err(TaskError::Retryable("the run has no state".to_owned())),
        };
        let workspace = workspace.filter(|_| spec.snapshots);
        let run_context = task_workspace
            .build_run_context(&self.work_dirs, workspace.clone(), &spec)
            .await;
        let run_context = run_context.map_err(|error| TaskError::Unsuitable(error.to_string()))?;
        let sink = HubEventSink::new(
            Arc::clone(worker_lease),
            self.outbox.clone(),
            Arc::clone(&activity),
            task_workspace.run_dir(),
            workspace,
            state.clone(),
            inherited_journal,
        );
        let (mut state, mut next_input) = (state, first);
        while let Some(mut input) = next_input.take() {
            if matches!(input, Input::Resume)
                && let Some(until) = state.run.as_ref().and_then(Run::waits_until)
            {
                match self.wait_for_usage_limit(id, until, worker_lease).await {
                    UsageLimitWait::Over => {}
                    UsageLimitWait::Cancelled(reason) => input = Input::Cancel { reason },
                    UsageLimitWait::ShuttingDown => break,
                    UsageLimitWait::LeaseLost => return Err(TaskError::Fenced),
                }
            }
            state = self
                .drive_run(
                    id,
                    state,
                    input,
                    &run_context,
                    &sink,
                    &activity,
                    worker_lease,
                )
                .await?;
            // Whatever the settings: a released task would be assigned again at once.
            let waits = |run: &Run| {
                run.control == RunControl::Suspended
                    && run.waits_until().is_some()
                    && !run.has_too_many_usage_limits()
            };
            if state.run.as_ref().is_some_and(waits) && !*self.shutdown.borrow() {
                next_input = Some(Input::Resume);
            }
        }
        self.report_end(assign, &task_workspace, &sink, &state)
            .await
    }

    /// Waits until a usage limit is reset, without occupying a slot, and then until a slot is free.
    async fn wait_for_usage_limit(
        &self,
        id: TaskId,
        until: Timestamp,
        worker_lease: &Arc<WorkerLease>,
    ) -> UsageLimitWait {
        worker_lease.release_slot();
        tracing::info!(
            "task {}: waiting until {} for a usage limit; its slot is free",
            id.short(),
            until.strftime("%F %R UTC")
        );
        let end_of_wait = async {
            wait_until(until).await;
            while !self.leases.occupy_slot(worker_lease, self.slots) {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        };
        let cancelled = async {
            let mut status = worker_lease.subscribe();
            let cancelled = status
                .wait_for(|status| status.cancel_reason.is_some())
                .await;
            let reason = cancelled.ok().and_then(|it| it.cancel_reason.clone());
            match reason {
                Some(reason) => reason,
                None => std::future::pending().await,
            }
        };
        let shutdown = async {
            let mut shutdown = self.shutdown.clone();
            if shutdown.wait_for(|is_over| *is_over).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = worker_lease.wait_until_over() => UsageLimitWait::LeaseLost,
            reason = cancelled => UsageLimitWait::Cancelled(reason),
            () = shutdown => UsageLimitWait::ShuttingDown,
            () = end_of_wait => UsageLimitWait::Over,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the complete context of a run")]
    async fn drive_run(
        &self,
        id: TaskId,
        state: JournalState,
        first: Input,
        run_context: &RunContext,
        sink: &HubEventSink,
        activity: &ActivityBuffer,
        worker_lease: &Arc<WorkerLease>,
    ) -> Result<JournalState, TaskError> {
        let run_id = RunId::from(id);
        if matches!(first, Input::Resume) {
            let dead = launch::ensure_no_leftover_processes(run_context, run_id).await;
            dead.map_err(|error| TaskError::Retryable(error.to_plain_text()))?;
        }
        worker_lease.trace_event("drive_began");
        let (stop_sender, stop) = watch::channel(None);
        let observer = self.telemetry.observe(run_id, activity);
        let mut driver = Driver {
            sink,
            context: run_context,
            observer: &observer,
            now: Timestamp::now,
            suspends_waits: true,
            stop,
        };
        let driven = tokio::select! {
            biased;
            driven = driver.drive(run_id, state, first) => Some(driven),
            () = worker_lease.wait_until_over() => None,
            () = sink.flush_activity() => None,
            () = self.forward_stop_requests(worker_lease, &stop_sender) => None,
        };
        drop(driver);
        run_context.agents.shutdown().await;
        run_context.checks.shutdown().await;
        let driven = match driven {
            Some(Ok(state)) => Ok(state),
            Some(Err(DriveError::Fenced)) => Err(TaskError::Fenced),
            Some(Err(error)) => Err(TaskError::Retryable(error.to_string())),
            None => {
                fault::failpoint("worker.fenced");
                // Supervisors end the processes of the dropped run; wait for that before anything else begins. Do not
                // search for marked processes: another worker on this machine may already run the task.
                if let Err(error) = launch::wait_for_own_processes(run_context).await {
                    tracing::error!("task {}: {}", id.short(), error.to_plain_text());
                }
                Err(TaskError::Fenced)
            }
        };
        worker_lease.trace_event("drive_ended");
        driven
    }

    /// Forwards cancellations and the worker's shutdown to the run.
    async fn forward_stop_requests(
        &self,
        worker_lease: &WorkerLease,
        stop_sender: &watch::Sender<Option<StopRequest>>,
    ) {
        let mut status = worker_lease.subscribe();
        let mut leave = self.shutdown.clone();
        loop {
            let cancel = status.borrow_and_update().cancel_reason.clone();
            let leaving = *leave.borrow_and_update();
            let stop_request = match (cancel, leaving) {
                (Some(reason), _) => Some(StopRequest::Cancel(reason)),
                (None, true) => Some(StopRequest::Suspend(
                    "the worker is shutting down".to_owned(),
                )),
                (None, false) => None,
            };
            if stop_request.is_some() && *stop_sender.borrow() != stop_request {
                stop_sender.send_replace(stop_request);
            }
            tokio::select! {
                changed = status.changed() => if changed.is_err() { tokio::time::sleep(STOP_POLL_INTERVAL).await },
                changed = leave.changed() => if changed.is_err() { tokio::time::sleep(STOP_POLL_INTERVAL).await },
            }
        }
    }

    /// Submits the result of the run, or releases the task if the run has not ended.
    async fn report_end(
        &self,
        assign: &TaskAssign,
        task_workspace: &TaskWorkspace,
        sink: &HubEventSink,
        state: &JournalState,
    ) -> Result<TaskExit, TaskError> {
        let Some(run) = &state.run else {
            return Err(TaskError::Retryable("the run has no state".to_owned()));
        };
        let retryable = |error: Box<dyn std::error::Error + Send + Sync>| {
            TaskError::Retryable(error.to_string())
        };
        if !run.finished && run.review.is_none() {
            let is_exhausted = run.waits_until().is_some() && run.has_too_many_usage_limits();
            let is_suspended = run.control == RunControl::Suspended && !is_exhausted;
            let reason = if is_exhausted {
                "the agent's usage limit was reached too often"
            } else if is_suspended {
                "the worker is shutting down"
            } else {
                "the run stopped before it finished"
            };
            let last = EntryKind::Release(TaskRelease {
                reason: reason.to_owned(),
                charged: !is_suspended,
                declined: false,
            });
            let is_recorded = sink.end_task(last, Vec::new()).await.map_err(retryable)?;
            return if is_recorded {
                Ok(TaskExit::Released(reason.to_owned()))
            } else {
                Err(TaskError::Fenced)
            };
        }
        let (result, files) = prepare_result(assign, task_workspace, run);
        let outcome = result.outcome;
        let last = EntryKind::Complete(TaskCompletion {
            // The same for every submission: a task ends once per lease.
            completion_id: format!("{}.{}", assign.lease.task_id, assign.lease.lease_epoch),
            result: Box::new(result),
        });
        if sink.end_task(last, files).await.map_err(retryable)? {
            Ok(TaskExit::Done(outcome))
        } else {
            Err(TaskError::Fenced)
        }
    }
}

fn has_attempts(assign: &TaskAssign, worker_lease: &WorkerLease) -> bool {
    assign
        .last_attempt_number
        .max(worker_lease.to_held_lease().attempt_number)
        > 0
}

/// Builds the end of a task without a result of a run.
fn completion_without_run(
    assign: &TaskAssign,
    worker_lease: &WorkerLease,
    outcome: Outcome,
    reason: String,
) -> EntryKind {
    let mut result = TaskResult::without_run(outcome, reason);
    if has_attempts(assign, worker_lease) {
        result = result.with_unknown_cost();
    }
    EntryKind::Complete(TaskCompletion {
        completion_id: Uuid::now_v7().to_string(),
        result: Box::new(result),
    })
}

fn lost_exit(worker_lease: &WorkerLease) -> TaskExit {
    let reason = worker_lease.current_status().lost_reason;
    TaskExit::Lost(reason.unwrap_or_else(|| "the worker is shutting down".to_owned()))
}
