//! One task carried out: from the place where it is done to the hub's word that its end is durable.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::fleet::{TaskAssign, TaskResult};
use selvedge_core::machine::{Control, Input, State};
use selvedge_core::model::{Outcome, RunId, TaskId, Timestamp};
use selvedge_engine::{DriveError, Driver, Site, Stop};
use selvedge_store::fault;
use tokio::sync::watch;
use uuid::Uuid;

use super::activity::Tap;
use super::deliver::delivered;
use super::desk::{Desk, DeskError};
use super::lane::Lane;
use super::place::{Ground, NoPlace, Place};
use super::stream::{Last, Stream};
use super::take_up::TakenUp;
use crate::fleet::Hub;
use crate::launch;

/// How long a run may take to stop in order when its task is cancelled or the worker leaves.
const LISTEN: Duration = Duration::from_millis(50);
/// Before a task is tried again that could be neither done nor given back.
const AGAIN: Duration = Duration::from_millis(500);

/// All that a task needs.
#[derive(Clone)]
pub(super) struct Porter {
    pub(super) hub: Hub,
    pub(super) desk: Desk,
    pub(super) ground: Ground,
    pub(super) environment: Arc<Vec<(String, String)>>,
    /// Set when the worker leaves without waiting for its tasks.
    pub(super) leave: watch::Receiver<bool>,
}

/// How a task left this worker.
#[derive(Debug)]
pub(super) enum Left {
    /// The hub has its end.
    Done(Outcome),
    /// Given back.
    Released(String),
    /// The lease was over before.
    Lost(String),
}

/// Why a task goes no further here.
#[derive(Debug)]
pub(super) enum Halt {
    /// Another try may do better, here or elsewhere.
    NotNow(String),
    /// Another run is at work in its folder: it waits for its turn.
    Busy(String),
    /// No try will.
    Never(String),
    /// The lease is over, or fenced off.
    Fenced,
}

impl From<DeskError> for Halt {
    fn from(error: DeskError) -> Self {
        Self::NotNow(error.to_string())
    }
}

impl From<NoPlace> for Halt {
    fn from(error: NoPlace) -> Self {
        match error {
            NoPlace::Refused(why) => Self::Never(why),
            NoPlace::NotNow(why) => Self::NotNow(why),
            NoPlace::Busy(why) => Self::Busy(why),
        }
    }
}

impl Porter {
    /// Carries a task out, from wherever it stands.
    pub(super) async fn carry(&self, assign: TaskAssign, lane: Arc<Lane>) -> Left {
        let id = assign.lease.task_id;
        let mut waits = false;
        loop {
            if !lane.live().await {
                break lost(&lane);
            }
            match Box::pin(self.once(&assign, &lane)).await {
                // Fenced, not lost: the hub may still say that the lease stands.
                Err(Halt::Fenced) if lane.standing().lost.is_none() => {
                    crate::worker::say(&format!(
                        "task {}: out of touch with the hub, stopped",
                        id.short()
                    ));
                }
                Err(Halt::Fenced) => break lost(&lane),
                Err(Halt::NotNow(reason)) => {
                    let last = Last::Release {
                        reason: reason.clone(),
                        charged: true,
                    };
                    if self.give_up(&lane, last).await {
                        break Left::Released(reason);
                    }
                    // Not even that could be written down.
                    tokio::time::sleep(AGAIN).await;
                }
                Err(Halt::Busy(reason)) => {
                    if !std::mem::replace(&mut waits, true) {
                        crate::worker::say(&format!("task {} waits: {reason}", id.short()));
                    }
                    if let Some(left) = self.unbegun(&assign, &lane).await {
                        break left;
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                Err(Halt::Never(reason)) => {
                    let last = without_run(&assign, &lane, Outcome::InfraFailed, reason);
                    if self.give_up(&lane, last).await {
                        break Left::Done(Outcome::InfraFailed);
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                Ok(left) => break left,
            }
        }
    }

    /// Ends a task that waits for its turn, where somebody wants that. One with attempts behind it is ended by
    /// its run, which knows of them.
    async fn unbegun(&self, assign: &TaskAssign, lane: &Arc<Lane>) -> Option<Left> {
        let (last, left) = if *self.leave.borrow() {
            let reason = "the worker leaves".to_owned();
            let charged = false;
            let left = Left::Released(reason.clone());
            (Last::Release { reason, charged }, left)
        } else {
            let reason = lane.standing().cancel.filter(|_| !is_begun(assign, lane))?;
            let last = without_run(assign, lane, Outcome::Cancelled, reason);
            (last, Left::Done(Outcome::Cancelled))
        };
        self.give_up(lane, last).await.then_some(left)
    }

    /// Nothing of the task is kept here any more.
    pub(super) async fn forget(&self, id: TaskId) {
        let ground = self.ground.clone();
        let _ = tokio::task::spawn_blocking(move || ground.clear(id)).await;
        if let Err(error) = self.desk.with(move |it| it.forget(id)).await {
            crate::worker::say(&format!("task {}: {error}", id.short()));
        }
    }

    /// Ends a task of which nothing runs.
    async fn give_up(&self, lane: &Arc<Lane>, last: Last) -> bool {
        let tap = Arc::new(Tap::default());
        let stream = Stream::new(
            Arc::clone(lane),
            self.desk.clone(),
            tap,
            PathBuf::new(),
            None,
            State::default(),
            Vec::new(),
        );
        stream.end(last, Vec::new()).await.unwrap_or(false)
    }

    async fn once(&self, assign: &TaskAssign, lane: &Arc<Lane>) -> Result<Left, Halt> {
        let id = assign.lease.task_id;
        let (task, ground) = (assign.task.clone(), self.ground.clone());
        let place = tokio::task::spawn_blocking(move || ground.place(&task, id));
        let place = place
            .await
            .map_err(|panic| Halt::NotNow(panic.to_string()))?;
        let place = place?;
        let tap = Arc::new(Tap::default());
        let TakenUp {
            state,
            first,
            inherited,
        } = self.taken_up(assign, &place, &tap).await?;
        let workspace = place.workspace(&self.ground).map_err(Halt::NotNow)?;
        let spec = match (&first, &state.run) {
            (Some(Input::Create { spec }), _) => spec.as_ref().clone(),
            (_, Some(run)) => (*run.spec).clone(),
            (_, None) => return Err(Halt::NotNow("the run has no state".to_owned())),
        };
        let workspace = workspace.filter(|_| spec.snapshots);
        let site = place.site(&self.ground, workspace.clone(), &spec).await;
        let site = site.map_err(Halt::NotNow)?;
        let stream = Stream::new(
            Arc::clone(lane),
            self.desk.clone(),
            Arc::clone(&tap),
            place.run_dir(),
            workspace,
            state.clone(),
            inherited,
        );
        let state = match first {
            None => state,
            Some(first) => {
                self.drive(id, state, first, &site, &stream, &tap, lane)
                    .await?
            }
        };
        self.ended(assign, &place, &stream, &state).await
    }

    #[expect(clippy::too_many_arguments, reason = "all that a run stands on")]
    async fn drive(
        &self,
        id: TaskId,
        state: State,
        first: Input,
        site: &Site,
        stream: &Stream,
        tap: &Tap,
        lane: &Arc<Lane>,
    ) -> Result<State, Halt> {
        let run_id = RunId::from(id);
        if matches!(first, Input::Resume) {
            let dead = launch::prove_dead(site, run_id).await;
            dead.map_err(|error| Halt::NotNow(error.plainly()))?;
        }
        lane.tell("drive_began");
        let (wish, stop) = watch::channel(None);
        let mut driver = Driver {
            sink: stream,
            site,
            observer: tap,
            now: Timestamp::now,
            stop,
        };
        let driven = tokio::select! {
            biased;
            driven = driver.drive(run_id, state, first) => Some(driven),
            () = lane.over() => None,
            () = stream.keep_telling() => None,
            () = self.wish(lane, &wish) => None,
        };
        drop(driver);
        site.agents.retire().await;
        site.checks.retire().await;
        let driven = match driven {
            Some(Ok(state)) => Ok(state),
            Some(Err(DriveError::Fenced)) => Err(Halt::Fenced),
            Some(Err(error)) => Err(Halt::NotNow(error.to_string())),
            None => {
                fault::reached("worker.fenced");
                // What was dropped is ended by its supervisors: seen to be so before anything else begins.
                // Without the sweep: by now the run may be at work again, with another worker of this machine.
                if let Err(error) = launch::wait_for_end(site).await {
                    crate::worker::say(&format!("task {}: {}", id.short(), error.plainly()));
                }
                Err(Halt::Fenced)
            }
        };
        lane.tell("drive_ended");
        driven
    }

    /// Passes wishes on for as long as the run goes on.
    async fn wish(&self, lane: &Lane, wish: &watch::Sender<Option<Stop>>) {
        let mut standing = lane.watch();
        let mut leave = self.leave.clone();
        loop {
            let cancel = standing.borrow_and_update().cancel.clone();
            let leaving = *leave.borrow_and_update();
            let wished = match (cancel, leaving) {
                (Some(reason), _) => Some(Stop::Cancel(reason)),
                (None, true) => Some(Stop::Suspend("the worker leaves".to_owned())),
                (None, false) => None,
            };
            if wished.is_some() && *wish.borrow() != wished {
                wish.send_replace(wished);
            }
            tokio::select! {
                changed = standing.changed() => if changed.is_err() { tokio::time::sleep(LISTEN).await },
                changed = leave.changed() => if changed.is_err() { tokio::time::sleep(LISTEN).await },
            }
        }
    }

    /// Hands in how the run ended, or stands.
    async fn ended(
        &self,
        assign: &TaskAssign,
        place: &Place,
        stream: &Stream,
        state: &State,
    ) -> Result<Left, Halt> {
        let Some(run) = &state.run else {
            return Err(Halt::NotNow("the run has no state".to_owned()));
        };
        let not_now =
            |error: Box<dyn std::error::Error + Send + Sync>| Halt::NotNow(error.to_string());
        if !run.finished && run.review.is_none() {
            let reason = if run.control == Control::Suspended {
                "the worker leaves"
            } else {
                "the run stopped before its end"
            };
            let last = Last::Release {
                reason: reason.to_owned(),
                charged: run.control != Control::Suspended,
            };
            let told = stream.end(last, Vec::new()).await.map_err(not_now)?;
            return if told {
                Ok(Left::Released(reason.to_owned()))
            } else {
                Err(Halt::Fenced)
            };
        }
        let (result, files) = delivered(assign, place, run);
        let outcome = result.outcome;
        let last = Last::Complete {
            // The same however often it is sent: a task ends once for each of its grants.
            completion_id: format!("{}.{}", assign.lease.task_id, assign.lease.lease_epoch),
            result: Box::new(result),
        };
        if stream.end(last, files).await.map_err(not_now)? {
            Ok(Left::Done(outcome))
        } else {
            Err(Halt::Fenced)
        }
    }
}

fn is_begun(assign: &TaskAssign, lane: &Lane) -> bool {
    assign.last_run_number.max(lane.held().run_number) > 0
}

/// The end of a task that no run of this worker has a result of.
fn without_run(assign: &TaskAssign, lane: &Lane, outcome: Outcome, reason: String) -> Last {
    let mut result = TaskResult::without_run(outcome, reason);
    if is_begun(assign, lane) {
        result = result.at_unknown_cost();
    }
    Last::Complete {
        completion_id: Uuid::now_v7().to_string(),
        result: Box::new(result),
    }
}

fn lost(lane: &Lane) -> Left {
    let reason = lane.standing().lost;
    Left::Lost(reason.unwrap_or_else(|| "the worker ends".to_owned()))
}
