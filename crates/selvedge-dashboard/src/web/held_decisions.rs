//! Review decisions that are held back for a minute, so that they can be undone. They are kept in memory: if the
//! program ends before, the task still awaits review. A decision applies only to the work that the reviewer saw.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use selvedge_core::model::ReviewTarget;
use tokio::task::{AbortHandle, JoinHandle};

use crate::backend::{DashboardBackend, DashboardError, DashboardUser, ReviewSubmission};
use crate::pages::HeldDecision;

/// How long a decision is held back.
pub(super) const HOLD: Duration = Duration::from_mins(1);
/// How long the reason of a decision that could not be applied is shown.
const FAILURE_SHOWN: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of held decisions.
const MAX_HELD: usize = 1_000;

/// The result of [`HeldDecisions::hold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldOutcome {
    /// The decision is held.
    Held,
    /// Another decision about the same work is held.
    AlreadyHeld,
    /// Too many decisions are held.
    Full,
}

struct Entry {
    decision: HeldDecision,
    /// Timer that applies the decision when it is due; `None` once that has begun.
    timer: Option<AbortHandle>,
}

impl Entry {
    /// Whether the entry can be removed: its failure was shown for long enough. An entry is never
    /// held for that long.
    fn is_expired(&self, now: Timestamp) -> bool {
        now.duration_since(self.decision.due) >= FAILURE_SHOWN
    }

    fn is_about(&self, target: &ReviewTarget) -> bool {
        self.decision.submission.target == *target
    }
}

struct HeldEntries {
    by_task: HashMap<String, Entry>,
    version: i64,
}

/// The held decisions by the ids of their tasks.
#[derive(Clone)]
pub(super) struct HeldDecisions(Arc<Mutex<HeldEntries>>);

impl Default for HeldDecisions {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(HeldEntries {
            by_task: HashMap::new(),
            // Differs after a restart, so that open pages notice it.
            version: Timestamp::now().as_millisecond(),
        })))
    }
}

impl HeldDecisions {
    fn lock(&self) -> MutexGuard<'_, HeldEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever a decision is held, undone, carried out or has failed.
    pub(super) fn version(&self) -> i64 {
        self.lock().version
    }

    /// The decision about this work of a task, if one is held or could not be carried out.
    pub(super) fn get(
        &self,
        id: &str,
        target: &ReviewTarget,
        now: Timestamp,
    ) -> Option<HeldDecision> {
        let entries = self.lock();
        let entry = entries.by_task.get(id);
        let entry = entry.filter(|entry| entry.is_about(target) && !entry.is_expired(now))?;
        Some(entry.decision.clone())
    }

    /// Holds a decision back, and then applies it. It replaces a decision about earlier work of the task.
    pub(super) fn hold(
        &self,
        backend: &Arc<dyn DashboardBackend>,
        id: &str,
        user: &DashboardUser,
        submission: ReviewSubmission,
        hold: Duration,
    ) -> HoldOutcome {
        let now = Timestamp::now();
        let mut entries = self.lock();
        entries.by_task.retain(|_, entry| !entry.is_expired(now));
        match entries.by_task.get(id) {
            None if entries.by_task.len() >= MAX_HELD => return HoldOutcome::Full,
            Some(entry)
                if entry.is_about(&submission.target) && entry.decision.failure.is_none() =>
            {
                return HoldOutcome::AlreadyHeld;
            }
            Some(Entry {
                timer: Some(timer), ..
            }) => timer.abort(),
            None | Some(_) => {}
        }
        let decision = HeldDecision {
            user: user.clone(),
            submission,
            due: now.checked_add(hold).unwrap_or(now),
            failure: None,
        };
        let (held, backend, task) = (self.clone(), Arc::clone(backend), id.to_owned());
        let due = decision.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(hold).await;
            if held.begin(&task, &due) {
                // A failure is shown with the task.
                let _ = held.carry_out(backend, task, due).await;
            }
        });
        let timer = Some(timer.abort_handle());
        entries
            .by_task
            .insert(id.to_owned(), Entry { decision, timer });
        entries.version += 1;
        HoldOutcome::Held
    }

    /// Removes a held decision, which then has no effect, and returns it. A decision that is being applied, or could
    /// not be applied, remains.
    pub(super) fn take(&self, id: &str, target: &ReviewTarget) -> Option<HeldDecision> {
        let mut entries = self.lock();
        let entry = entries.by_task.get_mut(id);
        let entry = entry.filter(|entry| entry.is_about(target))?;
        entry.timer.take()?.abort();
        entries.version += 1;
        entries.by_task.remove(id).map(|entry| entry.decision)
    }

    /// Begins to apply a held decision at once. Returns it and its result; it is applied even if the caller is dropped.
    pub(super) fn apply(
        &self,
        backend: &Arc<dyn DashboardBackend>,
        id: &str,
        target: &ReviewTarget,
    ) -> Option<(HeldDecision, JoinHandle<Result<String, DashboardError>>)> {
        let mut entries = self.lock();
        let entry = entries.by_task.get_mut(id);
        let entry = entry.filter(|entry| entry.is_about(target))?;
        entry.timer.take()?.abort();
        let decision = entry.decision.clone();
        let done = self
            .clone()
            .carry_out(Arc::clone(backend), id.to_owned(), decision.clone());
        Some((decision, tokio::spawn(done)))
    }

    /// Whether a decision that is due is still held. From here on it cannot be undone.
    fn begin(&self, id: &str, due: &HeldDecision) -> bool {
        let mut entries = self.lock();
        let entry = entries.by_task.get_mut(id);
        let entry = entry.filter(|entry| entry.decision == *due);
        entry.is_some_and(|entry| entry.timer.take().is_some())
    }

    /// Applies a decision. A failure is kept, so that pages show it.
    async fn carry_out(
        self,
        backend: Arc<dyn DashboardBackend>,
        id: String,
        decision: HeldDecision,
    ) -> Result<String, DashboardError> {
        let submission = decision.submission.clone();
        let done = backend.review(&decision.user, &id, submission).await;
        let mut entries = self.lock();
        entries.version += 1;
        // Another one may have replaced it.
        let is_own = |entry: &Entry| entry.decision == decision;
        if entries.by_task.get(&id).is_some_and(is_own) {
            match &done {
                Ok(_) => {
                    entries.by_task.remove(&id);
                }
                Err(error) => {
                    if let Some(entry) = entries.by_task.get_mut(&id) {
                        entry.decision.failure = Some(error.to_string());
                    }
                }
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use selvedge_core::model::{OutputRef, RunId};
    use selvedge_protocol::ReviewDecision;
    use tokio::sync::mpsc;

    use super::*;
    use crate::backend::{
        DashboardFuture, DiffContent, DiffRange, FleetOverview, OutputSlice, TaskDetail, TaskList,
        TaskQuery,
    };
    use crate::stats::RunStats;

    /// Reports the reviews that it carries out, and refuses those of `bad`.
    struct ReviewRecorder(mpsc::UnboundedSender<String>);

    fn nothing<'a, T: 'a>() -> BoxFuture<'a, Result<T, DashboardError>> {
        Box::pin(async { Err(DashboardError::Failed("not used".to_owned())) })
    }

    impl DashboardBackend for ReviewRecorder {
        fn tasks<'a>(
            &'a self,
            _: &'a DashboardUser,
            _: &'a TaskQuery,
        ) -> DashboardFuture<'a, TaskList> {
            nothing()
        }

        fn task<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, TaskDetail> {
            nothing()
        }

        fn output<'a>(
            &'a self,
            _: &'a TaskDetail,
            _: RunId,
            _: &'a OutputRef,
            _: u64,
            _: usize,
        ) -> DashboardFuture<'a, OutputSlice> {
            nothing()
        }

        fn diff<'a>(&'a self, _: &'a TaskDetail, _: DiffRange) -> DashboardFuture<'a, DiffContent> {
            nothing()
        }

        fn run_stats<'a>(&'a self, _: &'a DashboardUser) -> DashboardFuture<'a, Vec<RunStats>> {
            nothing()
        }

        fn fleet<'a>(&'a self, _: &'a DashboardUser) -> DashboardFuture<'a, Option<FleetOverview>> {
            nothing()
        }

        fn change_token<'a>(
            &'a self,
            _: &'a DashboardUser,
            _: Option<&'a str>,
        ) -> DashboardFuture<'a, String> {
            nothing()
        }

        fn review<'a>(
            &'a self,
            _: &'a DashboardUser,
            id: &'a str,
            _: ReviewSubmission,
        ) -> DashboardFuture<'a, String> {
            self.0.send(id.to_owned()).unwrap();
            Box::pin(async move {
                if id == "bad" {
                    return Err(DashboardError::Refused("decided before".to_owned()));
                }
                Ok(String::new())
            })
        }

        fn cancel<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, String> {
            nothing()
        }

        fn retry<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, String> {
            nothing()
        }
    }

    fn submission(attempt: u32) -> ReviewSubmission {
        ReviewSubmission {
            review: ReviewDecision::Accept,
            target: target(attempt),
            reason: String::new(),
        }
    }

    fn target(attempt: u32) -> ReviewTarget {
        ReviewTarget {
            attempt: Some(attempt),
            tree: None,
        }
    }

    /// Held decisions of one user about attempts of tasks.
    struct Fixture {
        held: HeldDecisions,
        backend: Arc<dyn DashboardBackend>,
        user: DashboardUser,
        reviewed: mpsc::UnboundedReceiver<String>,
    }

    impl Fixture {
        fn new() -> Self {
            let (sender, reviewed) = mpsc::unbounded_channel();
            Self {
                held: HeldDecisions::default(),
                backend: Arc::new(ReviewRecorder(sender)),
                user: DashboardUser {
                    name: "ann".to_owned(),
                    can_act: true,
                    project: None,
                    token_id: None,
                    person: None,
                    session_id: None,
                },
                reviewed,
            }
        }

        fn hold(&self, id: &str, attempt: u32, time: Duration) -> HoldOutcome {
            let submission = submission(attempt);
            self.held
                .hold(&self.backend, id, &self.user, submission, time)
        }

        fn get(&self, id: &str, attempt: u32) -> Option<HeldDecision> {
            self.held.get(id, &target(attempt), Timestamp::now())
        }
    }

    #[tokio::test]
    async fn held_decision_takes_effect_unless_it_is_undone() {
        let mut fixture = Fixture::new();
        let mut version = fixture.held.version();
        let mut has_changed = |fixture: &Fixture| {
            let before = std::mem::replace(&mut version, fixture.held.version());
            before != version
        };
        assert_eq!(fixture.hold("later", 1, HOLD), HoldOutcome::Held);
        assert!(has_changed(&fixture), "open pages are refreshed");
        assert_eq!(fixture.hold("later", 1, HOLD), HoldOutcome::AlreadyHeld);
        assert_eq!(fixture.get("later", 1).unwrap().user, fixture.user);
        let take = |id: &str| fixture.held.take(id, &target(1));
        assert!(take("later").is_some() && take("later").is_none());
        assert!(has_changed(&fixture), "open pages are refreshed");
        for id in ["good", "bad"] {
            assert_eq!(fixture.hold(id, 1, Duration::ZERO), HoldOutcome::Held);
        }
        assert!(has_changed(&fixture));
        let mut ids = [
            fixture.reviewed.recv().await.unwrap(),
            fixture.reviewed.recv().await.unwrap(),
        ];
        ids.sort_unstable();
        assert_eq!(ids, ["bad", "good"], "the other one was undone");
        let is_open = |it: &HeldDecision| it.failure.is_none();
        while ["bad", "good"]
            .iter()
            .any(|id| fixture.get(id, 1).is_some_and(|it| is_open(&it)))
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(has_changed(&fixture), "open pages are refreshed");
        assert_eq!(fixture.get("good", 1), None);
        let failed = fixture.get("bad", 1).unwrap();
        assert_eq!(failed.failure.as_deref(), Some("decided before"));
        let nothing = fixture.held.take("bad", &target(1));
        assert_eq!(nothing, None, "there is nothing to undo");
        assert_eq!(
            fixture.get("bad", 1),
            Some(failed.clone()),
            "the reason remains"
        );
        let later = failed.due.checked_add(FAILURE_SHOWN).unwrap();
        assert_eq!(fixture.held.get("bad", &target(1), later), None);
    }

    #[tokio::test]
    async fn held_decision_belongs_to_its_work() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.hold("a", 1, HOLD), HoldOutcome::Held);
        assert_eq!(fixture.get("a", 2), None);
        assert!(fixture.held.take("a", &target(2)).is_none());
        assert!(
            fixture
                .held
                .apply(&fixture.backend, "a", &target(2))
                .is_none()
        );
        // One about later work replaces it.
        assert_eq!(fixture.hold("a", 2, HOLD), HoldOutcome::Held);
        assert_eq!(fixture.get("a", 1), None);
        let (applied, done) = fixture
            .held
            .apply(&fixture.backend, "a", &target(2))
            .unwrap();
        assert_eq!(applied.submission, submission(2));
        let again = fixture.held.apply(&fixture.backend, "a", &target(2));
        assert!(again.is_none(), "it is carried out once");
        assert_eq!(fixture.hold("a", 2, HOLD), HoldOutcome::AlreadyHeld);
        done.await.unwrap().unwrap();
        assert_eq!(fixture.get("a", 2), None);
        assert_eq!(fixture.reviewed.recv().await.as_deref(), Some("a"));
        assert!(fixture.reviewed.try_recv().is_err(), "the first never is");
        for id in 0..MAX_HELD {
            assert_eq!(fixture.hold(&id.to_string(), 1, HOLD), HoldOutcome::Held);
        }
        assert_eq!(fixture.hold("b", 1, HOLD), HoldOutcome::Full);
    }
}
