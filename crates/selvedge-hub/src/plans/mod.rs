//! Plans: tasks that consist of subtasks. No worker can carry out a plan, so the hub does it: each subtask
//! becomes an ordinary task once the subtasks that it depends on are verified, with its own lease, attempts,
//! reports and costs, and the plan ends with the totals.
//!
//! Invariant: no state is kept here. The ids of a plan's subtasks are fixed at its submission, so a subtask
//! has begun if there is a task with its id; a step that is taken twice, by two hubs or by one, has one
//! effect. The plan itself is held under a lease like any running task, and every hub on the database may
//! renew it. The lease expires after the last hub has stopped, and the next hub continues the plan.

mod state;
mod subtasks;
mod trees;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::model::{Cost, Outcome, Task, TaskId};
use selvedge_core::plan::ScheduleDecision;
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{
    EntryHeader, EntryKind, PLAN_LABEL, StreamEntry, SubtaskRow, TaskCompletion, TaskState,
};
use selvedge_store::hub::{HubStoreError, NewTask, SubmitOutcome, TaskChange, TaskView};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use self::state::PlanState;
use self::subtasks::Subtasks;
use self::trees::BaseTreeError;
use crate::hub::{Hub, HubActivity};
use crate::new_task::new_task;
use crate::service;

/// How long changes are collected before plans are checked.
const COLLECT_WINDOW: Duration = Duration::from_millis(20);
/// The holder of plans.
const HUB_HOLDER: &str = "the hub";

/// Whether this row is a plan's.
pub(crate) fn is_plan(view: &TaskView) -> bool {
    view.labels.iter().any(|label| label == PLAN_LABEL)
}

/// The tasks of each unfinished plan. They are fixed at its submission, so this is only a cache.
type PlanIndex = HashMap<TaskId, HashSet<TaskId>>;

/// Carries out plans for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut activity = hub.watch();
    let mut plan_index = PlanIndex::new();
    let renew_every = hub.settings.timing.renew_interval();
    // There are no notifications here of changes by other hubs.
    let look_every = match hub.store.peers() {
        Some(_) => renew_every.min(Duration::from_secs(1)),
        None => renew_every,
    };
    let (mut look_at, mut renew_at) = (Instant::now(), Instant::now());
    loop {
        let (changed, is_incomplete) = collect_changes(&mut activity, look_at).await;
        let now = Instant::now();
        let all = is_incomplete || now >= look_at;
        let renew = now >= renew_at;
        if let Err(error) = advance_plans(&hub, &mut plan_index, &changed, all, renew).await {
            tracing::error!(%error, "cannot advance plans");
        }
        if all {
            look_at = now + look_every;
        }
        if renew {
            renew_at = now + renew_every;
        }
    }
}

/// Collects the changed tasks, and whether any were missed.
async fn collect_changes(
    activity: &mut broadcast::Receiver<HubActivity>,
    mut until: Instant,
) -> (HashSet<TaskId>, bool) {
    let (mut changed, mut is_incomplete) = (HashSet::new(), false);
    loop {
        match timeout_at(until, activity.recv()).await {
            Ok(Ok(HubActivity::Changed(task))) => {
                changed.insert(task);
            }
            Ok(Ok(HubActivity::Progress(..))) => continue,
            Ok(Err(RecvError::Lagged(_))) => is_incomplete = true,
            // The hub is about to end.
            Ok(Err(RecvError::Closed)) => {
                tokio::time::sleep_until(until).await;
                return (changed, is_incomplete);
            }
            Err(_) => return (changed, is_incomplete),
        }
        until = until.min(Instant::now() + COLLECT_WINDOW);
    }
}

/// Advances the plans that these changes concern, or all of them, and renews their leases when it is time.
async fn advance_plans(
    hub: &Hub,
    plan_index: &mut PlanIndex,
    changed: &HashSet<TaskId>,
    all: bool,
    renew: bool,
) -> Result<(), HubStoreError> {
    if changed.is_empty() && !all && !renew {
        return Ok(());
    }
    let plans = hub.store.plans().await?;
    plan_index.retain(|plan, _| plans.contains(plan));
    for plan in plans {
        let parts = plan_index.get(&plan);
        let of_parts = parts.is_some_and(|parts| !parts.is_disjoint(changed));
        if parts.is_some() && !of_parts && !all && !renew && !changed.contains(&plan) {
            continue;
        }
        let Some(course) = PlanState::load(hub, plan).await? else {
            continue;
        };
        plan_index.insert(plan, course.subtasks.ids().collect());
        if of_parts {
            hub.notify_changed(plan);
        }
        if let Some(token) = course.lease_token().filter(|_| renew) {
            let renewal = TaskChange::Lease(LeaseInput::Renew(token));
            hub.store.change(plan, renewal).await?;
        }
        advance_plan(hub, course).await?;
    }
    Ok(())
}

/// Takes a plan's next step, if there is one.
async fn advance_plan(hub: &Hub, mut course: PlanState) -> Result<(), HubStoreError> {
    if course.state() == TaskState::Queued {
        let take = TaskChange::AcquireForHub {
            holder: HUB_HOLDER.to_owned(),
            token: Uuid::new_v4().simple().to_string(),
        };
        // Another hub may have acquired it first.
        hub.change(course.id(), take).await?;
        match PlanState::load(hub, course.id()).await? {
            Some(taken) => course = taken,
            None => return Ok(()),
        }
    }
    match course.state() {
        TaskState::Running => match course.decide_next() {
            ScheduleDecision::Continue(_) => Ok(()),
            ScheduleDecision::Begin(index) => start_subtask(hub, &course, index).await,
            ScheduleDecision::Finish(outcome) => {
                finish_plan(hub, &course, outcome, course.subtasks.reason(outcome)).await
            }
        },
        TaskState::Cancelling => {
            cancel_open_subtask(hub, &course).await?;
            match PlanState::load(hub, course.id()).await? {
                Some(course) if course.subtasks.open().is_none() => {
                    let reason = course.subtasks.reason(Outcome::Cancelled);
                    finish_plan(hub, &course, Outcome::Cancelled, reason).await
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Submits a subtask as a task.
async fn start_subtask(hub: &Hub, course: &PlanState, index: usize) -> Result<(), HubStoreError> {
    let begins_from = match trees::find_base_tree(hub, course).await {
        Ok(begins_from) => begins_from,
        Err(BaseTreeError::Store(error)) => return Err(error),
        Err(missing) => {
            let reason = missing.to_string();
            return finish_plan(hub, course, Outcome::InfraFailed, reason).await;
        }
    };
    let plan_start = trees::plan_start_tree(hub, course).await?;
    let Some(task) = course.subtask_as_task(index, begins_from, plan_start) else {
        return Ok(());
    };
    let Some(task_id) = task.task_id else {
        return Ok(());
    };
    let project = &course.view.project;
    let new = NewTask {
        person: hub.store.submitting_person(course.id()).await?,
        ..new_task(&task, task_id, project, &course.view.submitted_by)?
    };
    match hub.store.submit(new).await? {
        // Another hub may have submitted it first: then it exists as well.
        SubmitOutcome::IdTaken => {}
        outcome => match service::check_outcome(outcome, &task, project) {
            Ok(_) => {
                hub.notify_changed(task_id);
                hub.notify_changed(course.id());
                hub.wake.notify_one();
            }
            Err(refused) => {
                let reason = format!("a subtask was refused: {refused}");
                return finish_plan(hub, course, Outcome::InfraFailed, reason).await;
            }
        },
    }
    // Another hub may have ended the plan meanwhile.
    match PlanState::load(hub, course.id()).await? {
        Some(now) if now.state() != TaskState::Running => cancel_open_subtask(hub, &now).await,
        _ => Ok(()),
    }
}

/// Cancels the running subtask.
async fn cancel_open_subtask(hub: &Hub, course: &PlanState) -> Result<(), HubStoreError> {
    let reason = course.view.row.lease.cancel.clone();
    let reason = reason.filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or_else(|| "its plan was cancelled".to_owned());
    if let Some(open) = course.subtasks.open() {
        let change = TaskChange::Lease(LeaseInput::Cancel {
            by: HUB_HOLDER.to_owned(),
            reason,
        });
        hub.change(open.row.task_id, change).await?;
    }
    Ok(())
}

/// Cancels the running subtask of a cancelled plan. A plan that was finished at once is no longer advanced, so
/// nothing else would cancel it.
pub(crate) async fn cancel_plan_work(hub: &Hub, plan: TaskId) -> Result<(), HubStoreError> {
    match PlanState::load(hub, plan).await? {
        Some(course) => cancel_open_subtask(hub, &course).await,
        None => Ok(()),
    }
}

async fn finish_plan(
    hub: &Hub,
    course: &PlanState,
    outcome: Outcome,
    reason: String,
) -> Result<(), HubStoreError> {
    let Some(lease) = course.lease_token() else {
        return Ok(());
    };
    let (result, files) = course.build_result(hub, outcome, reason).await?;
    let kind = EntryKind::Complete(TaskCompletion {
        completion_id: format!("{}.{}", lease.task_id, lease.lease_epoch),
        result: Box::new(result),
    });
    let mut header = EntryHeader::new(lease, course.view.row.entry_seq + 1);
    header.files = files;
    let entry = StreamEntry { header, kind };
    let change = TaskChange::EntryOfHub(Box::new(entry));
    hub.change(course.id(), change).await?;
    Ok(())
}

/// The totals of a plan's subtasks: a plan has no attempts and costs of its own.
pub(crate) struct PlanTotals {
    /// Number of attempts begun.
    pub(crate) attempts: u32,
    pub(crate) cost: Cost,
    /// Input and output tokens.
    pub(crate) tokens: (u64, u64),
    /// The subtasks and their states.
    pub(crate) subtasks: Vec<SubtaskRow>,
}

/// Computes the totals of a plan's subtasks.
pub(crate) async fn compute_totals(
    hub: &Hub,
    plan: Task,
    outcome: Option<Outcome>,
) -> Result<PlanTotals, HubStoreError> {
    let parts = Subtasks::of(hub, plan).await?;
    Ok(PlanTotals {
        attempts: parts
            .started()
            .map(|part| part.row.lease.last_attempt)
            .sum(),
        cost: parts.cost(),
        tokens: parts.tokens(),
        subtasks: parts.rows(outcome),
    })
}
