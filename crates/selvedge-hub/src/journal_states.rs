//! The states of runs: their folded journals. Pages and plans request the same states repeatedly, so they are cached,
//! and only new events are read and folded.
//!
//! Invariant: the cache never shows an event that the store does not have: it does not survive the hub, and a cached
//! state is used only while its last event is still stored. The cache's lock is held only to look up or to insert a
//! state, never while events are read or folded; concurrent calls for one task may fold the same events.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, RunId, TaskId};
use selvedge_store::hub::{HubStoreError, JournalLine};

use crate::hub::Hub;

/// Number of events per read.
const READ_BATCH: usize = 500;
/// Maximum number of cached states; beyond it, the least recently used one is removed.
const MAX_STATES: usize = 256;
/// Maximum size of the events of all cached states, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The state of a task's run.
pub(crate) async fn load_state(
    hub: &Hub,
    task: TaskId,
) -> Result<Arc<JournalState>, HubStoreError> {
    let mut journal = hub.journal_states.lock().get(task);
    loop {
        let folded = journal.seq;
        // Reads the last folded event again, to see whether the journal has expired.
        let after = folded.saturating_sub(1);
        let lines = hub.store().journal(task, after, READ_BATCH).await?;
        match lines.split_first() {
            Some((last, new)) if last.seq == folded => journal.append(task, new)?,
            _ if folded == 0 => journal.append(task, &lines)?,
            _ => {
                journal = FoldedJournal::default();
                continue;
            }
        }
        if lines.len() < READ_BATCH {
            break;
        }
    }
    hub.journal_states.lock().insert(task, journal.clone());
    Ok(journal.state)
}

/// A journal, folded up to an event.
#[derive(Debug, Clone, Default)]
struct FoldedJournal {
    state: Arc<JournalState>,
    /// Sequence number of the last folded event; 0 if there is none.
    seq: u64,
    /// Size of the folded events.
    bytes: usize,
}

impl FoldedJournal {
    fn append(&mut self, task: TaskId, lines: &[JournalLine]) -> Result<(), HubStoreError> {
        let Some(last) = lines.last() else {
            return Ok(());
        };
        let mut state = Arc::unwrap_or_clone(mem::take(&mut self.state));
        for line in lines {
            let envelope: Envelope = serde_json::from_str(&line.event)
                .map_err(|error| HubStoreError::Damaged(error.to_string()))?;
            if envelope.run_id != RunId::from(task) {
                let error = format!("event {} of task {task} is of another run", line.seq);
                return Err(HubStoreError::Damaged(error));
            }
            state = evolve(state, &envelope);
            self.bytes += line.event.len();
        }
        self.state = Arc::new(state);
        self.seq = last.seq;
        Ok(())
    }
}

/// The cached states, by task.
#[derive(Debug, Default)]
pub(crate) struct JournalStateCache {
    journals: HashMap<TaskId, CachedJournal>,
    clock: u64,
}

#[derive(Debug)]
struct CachedJournal {
    journal: FoldedJournal,
    last_used: u64,
}

impl JournalStateCache {
    /// The cached journal, or an empty one.
    fn get(&mut self, task: TaskId) -> FoldedJournal {
        self.clock += 1;
        let Some(cached) = self.journals.get_mut(&task) else {
            return FoldedJournal::default();
        };
        cached.last_used = self.clock;
        cached.journal.clone()
    }

    fn insert(&mut self, task: TaskId, journal: FoldedJournal) {
        self.clock += 1;
        let last_used = self.clock;
        let cached = CachedJournal { journal, last_used };
        self.journals.insert(task, cached);
        while self.journals.len() > MAX_STATES || self.bytes() > MAX_BYTES {
            let unused = self.journals.iter().min_by_key(|(_, it)| it.last_used);
            let Some(task) = unused.map(|(task, _)| *task) else {
                return;
            };
            self.journals.remove(&task);
        }
    }

    fn bytes(&self) -> usize {
        self.journals.values().map(|it| it.journal.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use selvedge_core::model::{Outcome, Task};
    use selvedge_protocol::{
        EntryHeader, EntryKind, LeaseToken, StreamEntry, TaskCompletion, TaskResult,
    };
    use selvedge_store::hub::{
        ChangeAnswer, HubStore, PollRequest, SqliteHub, StoreSettings, TaskChange,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::new_task::new_task;
    use crate::settings::HubSettings;

    fn task(number: usize) -> TaskId {
        TaskId::new(uuid::Uuid::from_u128(number as u128))
    }

    fn journal(seq: u64, bytes: usize) -> FoldedJournal {
        FoldedJournal {
            seq,
            bytes,
            ..FoldedJournal::default()
        }
    }

    #[test]
    fn cache_keeps_the_most_recently_used_states() {
        let mut cache = JournalStateCache::default();
        for number in 0..MAX_STATES {
            cache.insert(task(number), journal(1, 10));
        }
        assert_eq!(cache.get(task(0)).seq, 1);
        cache.insert(task(MAX_STATES), journal(2, 10));
        assert_eq!(cache.journals.len(), MAX_STATES);
        assert_eq!(cache.get(task(0)).seq, 1, "it was used last");
        assert_eq!(cache.get(task(1)).seq, 0, "it was unused longest");
        assert_eq!(cache.get(task(MAX_STATES)).seq, 2);
    }

    #[test]
    fn cache_is_limited_in_bytes() {
        let mut cache = JournalStateCache::default();
        cache.insert(task(1), journal(1, MAX_BYTES / 2));
        cache.insert(task(2), journal(1, MAX_BYTES / 2));
        assert_eq!(cache.journals.len(), 2);
        cache.insert(task(3), journal(1, 1));
        assert_eq!(cache.get(task(1)).seq, 0);
        assert_eq!(cache.get(task(2)).seq, 1);
        cache.insert(task(4), journal(1, MAX_BYTES + 1));
        assert_eq!(cache.bytes(), 0, "one that is too large is not cached");
    }

    fn event(seq: u64) -> Value {
        json!({
            "v": 1, "run_id": task(1), "seq": seq, "at": "2026-01-01T00:00:00Z",
            "type": "agent_message", "data": {"text": "x"},
        })
    }

    async fn write_entry(
        store: &dyn HubStore,
        lease: &LeaseToken,
        seq: u64,
        events: RangeInclusive<u64>,
        kind: EntryKind,
    ) {
        let mut header = EntryHeader::new(lease.clone(), seq);
        header.events = events.map(event).collect();
        let change = TaskChange::Entry(Box::new(StreamEntry { header, kind }));
        let outcome = store.change(lease.task_id, change).await.unwrap();
        assert_eq!(outcome.unwrap().answer, ChangeAnswer::Applied);
    }

    #[tokio::test]
    async fn load_state_follows_writes_of_peers_and_retention() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hub.db");
        let store: Arc<dyn HubStore> =
            Arc::new(SqliteHub::open(&file, StoreSettings::default()).unwrap());
        let hub = || Hub::new(Arc::clone(&store), HubSettings::default());
        let (one, two) = (hub(), hub());
        let id = task(1);
        let new = new_task(&Task::default(), id, "default", "test").unwrap();
        store.submit(new).await.unwrap();
        let request = PollRequest {
            project: None,
            worker: "worker".to_owned(),
            labels: Vec::new(),
            agents: None,
            folders: None,
            slots: 1,
            excluded: Vec::new(),
        };
        let assigned = store.assign_tasks(vec![request]).await.unwrap();
        let lease = assigned[0].row.lease_token();

        let last = 2 * READ_BATCH as u64 + 1;
        write_entry(store.as_ref(), &lease, 1, 1..=last, EntryKind::Progress).await;
        let first = load_state(&one, id).await.unwrap();
        assert_eq!(first.seq, last);
        assert!(Arc::ptr_eq(&first, &load_state(&one, id).await.unwrap()));

        let end = EntryKind::Complete(TaskCompletion {
            completion_id: "once".to_owned(),
            result: Box::new(TaskResult::without_run(Outcome::Failed, "")),
        });
        write_entry(store.as_ref(), &lease, 2, last + 1..=last + 1, end).await;
        let later = load_state(&one, id).await.unwrap();
        assert_eq!((first.seq, later.seq), (last, last + 1));
        assert_eq!(later, load_state(&two, id).await.unwrap());

        // A negative age: everything has expired.
        while store.purge_expired(-60_000, READ_BATCH).await.unwrap() > 0 {}
        assert_eq!(
            *load_state(&one, id).await.unwrap(),
            JournalState::default()
        );
    }

    #[test]
    fn journal_is_folded_up_to_its_last_line() {
        let line = |seq: u64| JournalLine {
            seq,
            event: event(seq).to_string(),
        };
        let mut folded = FoldedJournal::default();
        folded.append(task(1), &[line(1), line(2)]).unwrap();
        let first = folded.clone();
        folded.append(task(1), &[]).unwrap();
        assert!(Arc::ptr_eq(&folded.state, &first.state));
        folded.append(task(1), &[line(3)]).unwrap();
        assert_eq!((folded.seq, folded.state.seq), (3, 3));
        assert_eq!(first.state.seq, 2, "a shared state stays as it is");
        let foreign = FoldedJournal::default().append(task(2), &[line(1)]);
        assert!(matches!(foreign, Err(HubStoreError::Damaged(_))));
    }
}
