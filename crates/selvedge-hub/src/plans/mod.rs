//! Plans: tasks that are made of subtasks. The hub carries a plan through itself, as no worker could:
//! each subtask becomes a task like any other once those that it depends on are verified, with its own
//! lease, attempts, reports and costs, and the plan ends with the sum.
//!
//! Invariant: nothing is remembered here. A plan's subtasks have their ids from its submission, so a
//! subtask has begun once there is a task with its id; a step that two hubs take at once, or one hub
//! twice, has one effect. The plan itself is held under a lease as any task that is at work, which every
//! hub on the database may renew: the lease ends with the last hub, and the plan goes on with the next.

mod course;
mod parts;
mod trees;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::fleet::{
    Entry as Header, Lease as WireLease, PLAN_LABEL, SubtaskRow, TaskResult, TaskState,
};
use selvedge_core::lease::Fence;
use selvedge_core::model::{Cost, Outcome, Task, TaskId};
use selvedge_core::plan::Turn;
use selvedge_face::reading::WholePlan;
use selvedge_store::hub::{Change, Entry, HubStoreError, Step, Submitted, TaskView};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use self::course::Course;
use self::parts::Parts;
use crate::api::{new_task, whole_row};
use crate::facts;
use crate::hub::{Activity, Hub};
use crate::result;

/// How long changes are gathered before plans are looked at.
const GATHERED: Duration = Duration::from_millis(20);
/// Who holds plans.
const HOLDER: &str = "the hub";

/// Whether this row is a plan's.
pub(crate) fn is_plan(view: &TaskView) -> bool {
    view.labels.iter().any(|label| label == PLAN_LABEL)
}

/// Which tasks belong to each plan that is not over: fixed at its submission, so what is remembered of it
/// here only spares looking.
type Known = HashMap<TaskId, HashSet<TaskId>>;

/// Carries plans through for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut activity = hub.watch();
    let mut known = Known::new();
    let renew_every = hub.settings.timing.renew_every();
    // What another hub wrote is told to nobody here.
    let look_every = match hub.store.neighbours() {
        Some(_) => renew_every.min(Duration::from_secs(1)),
        None => renew_every,
    };
    let (mut look_at, mut renew_at) = (Instant::now(), Instant::now());
    loop {
        let (changed, missed) = gathered(&mut activity, look_at).await;
        let now = Instant::now();
        let all = missed || now >= look_at;
        let renew = now >= renew_at;
        if let Err(error) = look(&hub, &mut known, &changed, all, renew).await {
            tracing::error!(%error, "cannot carry plans through");
        }
        if all {
            look_at = now + look_every;
        }
        if renew {
            renew_at = now + renew_every;
        }
    }
}

/// The tasks that changed: some at once, or what there is at that moment; and whether any were missed.
async fn gathered(
    activity: &mut broadcast::Receiver<Activity>,
    mut until: Instant,
) -> (HashSet<TaskId>, bool) {
    let (mut changed, mut missed) = (HashSet::new(), false);
    loop {
        match timeout_at(until, activity.recv()).await {
            Ok(Ok(Activity::Changed(task))) => {
                changed.insert(task);
            }
            Ok(Ok(Activity::Progress(..))) => continue,
            Ok(Err(RecvError::Lagged(_))) => missed = true,
            // The hub is about to end, and this with it.
            Ok(Err(RecvError::Closed)) => {
                tokio::time::sleep_until(until).await;
                return (changed, missed);
            }
            Err(_) => return (changed, missed),
        }
        until = until.min(Instant::now() + GATHERED);
    }
}

/// Looks at the plans that these changes concern, or at all of them, and renews their leases if it is time.
async fn look(
    hub: &Hub,
    known: &mut Known,
    changed: &HashSet<TaskId>,
    all: bool,
    renew: bool,
) -> Result<(), HubStoreError> {
    if changed.is_empty() && !all && !renew {
        return Ok(());
    }
    let plans = hub.store.plans().await?;
    known.retain(|plan, _| plans.contains(plan));
    for plan in plans {
        let parts = known.get(&plan);
        let of_parts = parts.is_some_and(|parts| !parts.is_disjoint(changed));
        if parts.is_some() && !of_parts && !all && !renew && !changed.contains(&plan) {
            continue;
        }
        let Some(course) = Course::load(hub, plan).await? else {
            continue;
        };
        known.insert(plan, course.parts.ids().collect());
        if of_parts {
            hub.changed(plan);
        }
        if let Some(fence) = course.held().filter(|_| renew) {
            hub.store.change(plan, Change::Renew(fence)).await?;
        }
        go_on(hub, course).await?;
    }
    Ok(())
}

/// Takes a plan's next step, if there is one.
async fn go_on(hub: &Hub, mut course: Course) -> Result<(), HubStoreError> {
    if course.state() == TaskState::Queued {
        let take = Change::Take {
            holder: HOLDER.to_owned(),
            token: Uuid::new_v4().simple().to_string(),
        };
        // Another hub may have been first.
        hub.change(course.id(), take).await?;
        match Course::load(hub, course.id()).await? {
            Some(taken) => course = taken,
            None => return Ok(()),
        }
    }
    match course.state() {
        TaskState::Running => match course.turn() {
            Turn::GoOn(_) => Ok(()),
            Turn::Begin(index) => begin(hub, &course, index).await,
            Turn::Finish(outcome) => {
                finish(hub, &course, outcome, course.parts.reason(outcome)).await
            }
        },
        TaskState::Cancelling => {
            stop(hub, &course).await?;
            match Course::load(hub, course.id()).await? {
                Some(course) if course.parts.open().is_none() => {
                    let reason = course.parts.reason(Outcome::Cancelled);
                    finish(hub, &course, Outcome::Cancelled, reason).await
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Makes a subtask a task.
async fn begin(hub: &Hub, course: &Course, index: usize) -> Result<(), HubStoreError> {
    let begins_from = match trees::begins_from(hub, course).await? {
        Ok(begins_from) => begins_from,
        Err(lost) => return finish(hub, course, Outcome::InfraFailed, lost).await,
    };
    let plan_start = trees::plan_start(hub, course).await?;
    let Some(task) = course.task_of(index, begins_from, plan_start) else {
        return Ok(());
    };
    let Some(task_id) = task.task_id else {
        return Ok(());
    };
    let new = new_task(
        &task,
        task_id,
        &course.view.tenant,
        &course.view.submitted_by,
    );
    let new = new.map_err(|error| HubStoreError::Damaged(error.to_string()))?;
    // Another hub may have been first: then it is there all the same.
    if let Submitted::New(_) = hub.store.submit(new).await? {
        hub.changed(task_id);
        hub.changed(course.id());
        hub.wake.notify_one();
    }
    // Another hub may have ended the plan since it was looked at.
    match Course::load(hub, course.id()).await? {
        Some(now) if now.state() != TaskState::Running => stop(hub, &now).await,
        _ => Ok(()),
    }
}

/// Has the subtask that is at work stopped for good.
async fn stop(hub: &Hub, course: &Course) -> Result<(), HubStoreError> {
    let reason = course.view.row.lease.cancel.clone();
    let reason = reason.filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or_else(|| "its plan was stopped".to_owned());
    if let Some(open) = course.parts.open() {
        let change = Change::Cancel {
            by: HOLDER.to_owned(),
            reason,
        };
        hub.change(open.row.task_id, change).await?;
    }
    Ok(())
}

/// Stops what a plan has at work, after it was itself told to stop: one that was over at once stops
/// nothing any more.
pub(crate) async fn cancelled(hub: &Hub, plan: TaskId) -> Result<(), HubStoreError> {
    match Course::load(hub, plan).await? {
        Some(course) => stop(hub, &course).await,
        None => Ok(()),
    }
}

async fn finish(
    hub: &Hub,
    course: &Course,
    outcome: Outcome,
    reason: String,
) -> Result<(), HubStoreError> {
    let Some(Fence { epoch, token }) = course.held() else {
        return Ok(());
    };
    let lease = WireLease {
        task_id: course.id(),
        lease_epoch: epoch,
        lease_token: token,
    };
    let (result, files) = course.sum(hub, outcome, reason).await?;
    let mut header = Header::new(lease, course.view.row.entry_seq + 1);
    header.files = files;
    let step = Step::Complete {
        completion_id: format!("{}.{epoch}", course.id()),
        outcome,
        reason: result.reason.clone(),
        result: text(&result)?,
    };
    hub.change(course.id(), Change::Entry(Box::new(Entry { header, step })))
        .await?;
    Ok(())
}

fn text(result: &TaskResult) -> Result<String, HubStoreError> {
    serde_json::to_string(result).map_err(|error| HubStoreError::Damaged(error.to_string()))
}

/// What a plan's subtasks come to so far: it has no attempts and costs of its own.
pub(crate) struct Sum {
    /// Attempts begun.
    pub(crate) attempts: u32,
    pub(crate) cost: Cost,
    /// In and out.
    pub(crate) tokens: (u64, u64),
    /// How each stands.
    pub(crate) subtasks: Vec<SubtaskRow>,
}

/// A plan as its parts tell it: its result, and the runs of those that have begun.
pub(crate) async fn whole(
    hub: &Hub,
    view: &TaskView,
    body: &str,
) -> Result<WholePlan, HubStoreError> {
    let row = whole_row(hub, view, body).await?;
    let mut runs = BTreeMap::new();
    for part in row.subtasks.iter().filter(|part| part.state.is_some()) {
        let run = facts::state(hub, part.task_id).await?.run;
        runs.extend(run.map(|run| (run.run_id, run)));
    }
    let told = result::read(hub, view).await?;
    Ok(WholePlan {
        result: row.plan_result(&runs, told),
        runs,
    })
}

/// What the subtasks of a plan come to.
pub(crate) async fn sum(
    hub: &Hub,
    plan: Task,
    outcome: Option<Outcome>,
) -> Result<Sum, HubStoreError> {
    let parts = Parts::of(hub, plan).await?;
    Ok(Sum {
        attempts: parts.begun().map(|part| part.row.lease.last_run).sum(),
        cost: parts.cost(),
        tokens: parts.tokens(),
        subtasks: parts.rows(outcome),
    })
}
