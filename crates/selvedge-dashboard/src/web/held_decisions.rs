//! Review decisions that are held back for a minute, so that they can be undone. They are kept in memory: if the
//! program ends before, the task still awaits review.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::AbortHandle;

use crate::backend::{DashboardBackend, DashboardUser, ReviewSubmission};

/// How long a decision is held back.
pub(super) const HOLD: Duration = Duration::from_mins(1);
/// How long the reason is shown why a decision could not be carried out.
const FAILURE_SHOWN: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of held decisions.
const MAX_HELD: usize = 1_000;

/// A decision of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldDecision {
    pub(crate) user: DashboardUser,
    pub(crate) submission: ReviewSubmission,
    /// When it takes effect.
    pub(crate) due: Timestamp,
    /// Why it could not be carried out.
    pub(crate) failure: Option<String>,
}

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
