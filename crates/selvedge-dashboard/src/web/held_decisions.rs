//! Review decisions that are held back for a minute, so that they can be undone. They are kept in memory: if the
//! program ends before, the task still awaits review.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::AbortHandle;

use crate::backend::{DashboardBackend, DashboardUser, ReviewSubmission};
use crate::pages::HeldDecision;

/// How long a decision is held back.
pub(super) const HOLD: Duration = Duration::from_mins(1);
/// How long the reason is shown why a decision could not be carried out.
const FAILURE_SHOWN: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of held decisions.
const MAX_HELD: usize = 1_000;

struct Entry {
    decision: HeldDecision,
    timer: AbortHandle,
}

/// The held decisions by the ids of their tasks.
#[derive(Default)]
pub(super) struct HeldDecisions {
    entries: Arc<Mutex<HashMap<String, Entry>>>,
}

impl HeldDecisions {
    /// The decision about a task, if one is held or could not be carried out.
    pub(super) fn get(&self, id: &str) -> Option<HeldDecision> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(id).map(|entry| entry.decision.clone())
    }

    /// Holds a decision back, and then carries it out. Returns false if another decision about the task is held.
    pub(super) fn hold(
        &self,
        backend: &Arc<dyn DashboardBackend>,
        id: &str,
        user: &DashboardUser,
        submission: ReviewSubmission,
        hold: Duration,
    ) -> bool {
        let now = Timestamp::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| {
            entry.decision.failure.is_none()
                || now.duration_since(entry.decision.due) < FAILURE_SHOWN
        });
        let is_held = |entry: &Entry| entry.decision.failure.is_none();
        if entries.get(id).is_some_and(is_held) || entries.len() >= MAX_HELD {
            return false;
        }
        let decision = HeldDecision {
            user: user.clone(),
            submission,
            due: now.checked_add(hold).unwrap_or(now),
            failure: None,
        };
        let (backend, shared, id) = (
            Arc::clone(backend),
            Arc::clone(&self.entries),
            id.to_owned(),
        );
        let held = (id.clone(), decision.clone());
        let timer = tokio::spawn(async move {
            tokio::time::sleep(hold).await;
            carry_out(backend.as_ref(), &shared, &held.0, held.1).await;
        });
        let timer = timer.abort_handle();
        entries.insert(id, Entry { decision, timer });
        true
    }

    /// Removes a held decision and returns it. It does not take effect.
    pub(super) fn take(&self, id: &str) -> Option<HeldDecision> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is being carried out was removed before, so it is not interrupted.
        let entry = entries.remove(id)?;
        entry.timer.abort();
        Some(entry.decision).filter(|decision| decision.failure.is_none())
    }
}

/// Carries a decision out, unless it was removed. A failure stays visible.
async fn carry_out(
    backend: &dyn DashboardBackend,
    entries: &Mutex<HashMap<String, Entry>>,
    id: &str,
    decision: HeldDecision,
) {
    let lock = || entries.lock().unwrap_or_else(PoisonError::into_inner);
    // From here on it cannot be undone.
    let Some(mut entry) = lock().remove(id) else {
        return;
    };
    let done = backend
        .review(&decision.user, id, decision.submission)
        .await;
    if let Err(error) = done {
        entry.decision.failure = Some(error.to_string());
        lock().entry(id.to_owned()).or_insert(entry);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use selvedge_core::model::{OutputRef, ReviewTarget, RunId};
    use selvedge_protocol::ReviewDecision;
    use tokio::sync::mpsc;

    use super::*;
    use crate::backend::{
        DashboardError, DashboardFuture, DiffContent, DiffRange, FleetOverview, OutputSlice,
        TaskDetail, TaskList, TaskQuery,
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
            _: RunId,
            _: &'a OutputRef,
            _: u64,
            _: usize,
        ) -> DashboardFuture<'a, OutputSlice> {
            nothing()
        }

        fn diff<'a>(
            &'a self,
            _: &'a TaskDetail,
            _: RunId,
            _: DiffRange,
        ) -> DashboardFuture<'a, DiffContent> {
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

    #[tokio::test]
    async fn held_decision_takes_effect_unless_it_is_undone() {
        let (sender, mut reviewed) = mpsc::unbounded_channel();
        let backend: Arc<dyn DashboardBackend> = Arc::new(ReviewRecorder(sender));
        let user = DashboardUser {
            name: "ann".to_owned(),
            can_act: true,
            tenant: None,
            token_id: None,
            session_id: None,
        };
        let held = HeldDecisions::default();
        let hold = |id: &str, time: Duration| {
            let submission = ReviewSubmission {
                review: ReviewDecision::Accept,
                target: ReviewTarget::default(),
                reason: String::new(),
            };
            held.hold(&backend, id, &user, submission, time)
        };
        assert!(hold("later", HOLD) && !hold("later", HOLD), "one at a time");
        assert_eq!(held.get("later").unwrap().user, user);
        assert!(held.take("later").is_some() && held.take("later").is_none());
        assert!(hold("good", Duration::ZERO) && hold("bad", Duration::ZERO));
        let mut ids = [
            reviewed.recv().await.unwrap(),
            reviewed.recv().await.unwrap(),
        ];
        ids.sort_unstable();
        assert_eq!(ids, ["bad", "good"], "the other one was undone");
        while held.get("bad").is_none_or(|it| it.failure.is_none()) {
            tokio::task::yield_now().await;
        }
        assert_eq!(held.get("good"), None);
        assert_eq!(held.get("bad").unwrap().failure.unwrap(), "decided before");
        assert!(held.take("bad").is_none(), "there is nothing to undo");
    }
}
