//! Summaries of the changes of attempts, kept in memory: the diff of two trees never changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_core::model::{RunId, TreeId};
use selvedge_core::run::Run;

use super::Dashboard;
use crate::backend::{DiffRange, TaskDetail};
use crate::diff::ChangeSummary;
use crate::pages::AttemptChanges;

/// Maximum number of summaries; beyond it, all are dropped.
const MAX_ENTRIES: usize = 2_000;
/// Maximum number of attempts whose changes are summarized, from the last one on.
const MAX_ATTEMPTS: usize = 20;

type Key = (RunId, u32, TreeId);

/// The cache.
#[derive(Debug, Default)]
pub(super) struct ChangeCache(Mutex<HashMap<Key, Arc<ChangeSummary>>>);

impl ChangeCache {
    fn get(&self, key: &Key) -> Option<Arc<ChangeSummary>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).map(Arc::clone)
    }

    fn insert(&self, key: Key, summary: Arc<ChangeSummary>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        entries.insert(key, summary);
    }

    /// The changes of a run's attempts, as far as they are stored.
    pub(super) async fn load(
        &self,
        dashboard: &Dashboard,
        task: &TaskDetail,
        run: &Run,
    ) -> AttemptChanges {
        let mut changes = AttemptChanges::new();
        for attempt in run.attempts.iter().rev().take(MAX_ATTEMPTS) {
            let number = attempt.attempt_number;
            let (Some(_), Some(tree)) = (&attempt.from_tree, &attempt.tree) else {
                continue;
            };
            let key = (run.run_id, number, tree.clone());
            let known = self.get(&key);
            let summary = if let Some(known) = known {
                known
            } else {
                let range = DiffRange::Attempt(number);
                let diff = dashboard.backend.diff(task, range).await;
                let Ok(diff) = diff else { continue };
                let summary = Arc::new(ChangeSummary::of(&diff.bytes, diff.truncated));
                self.insert(key, Arc::clone(&summary));
                summary
            };
            changes.insert(number, summary);
        }
        changes
    }
}
