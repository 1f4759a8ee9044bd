//! Tests of appending: all appended events are stored, and nothing else.

use selvedge_core::model::Event;
use serde_json::json;

use super::JournalBackend;
use super::sample::{append, began, created, numbered, run};
use selvedge_store::StoreError;
use selvedge_store::{AppendOutcome, Journal};

/// Gaps, duplicates and events of other runs are refused before anything is written. A batch that does not
/// start at the journal's end is fenced, and the result contains the actual end.
pub(crate) fn a_batch_that_does_not_follow_leaves_nothing_behind<B: JournalBackend>(
    fresh: impl Fn() -> B,
) {
    let backend = fresh();
    let journal = backend.open();
    let stored = append(&journal, run(1), 0, [created("mend it", "/w"), began(1)]);

    let mut gap = numbered(run(1), 2, [Event::Suspended, Event::Suspended]);
    gap[1].seq = 5;
    let double = numbered(run(1), 1, [Event::Suspended]);
    let mut foreign = numbered(run(1), 2, [Event::Suspended, Event::Suspended]);
    foreign[1].run_id = run(2);
    for batch in [gap, double, foreign] {
        let refused = journal.append(run(1), 2, &batch);
        assert!(
            matches!(refused, Err(StoreError::OutOfSequence { .. })),
            "{refused:?}"
        );
    }

    for (expected_seq, actual_seq) in [(0, 2), (1, 2), (3, 2)] {
        let batch = numbered(run(1), expected_seq, [Event::Suspended]);
        let fenced = journal.append(run(1), expected_seq, &batch).unwrap();
        assert_eq!(fenced, AppendOutcome::Fenced { actual_seq });
    }
    let to_an_unknown_run = numbered(run(9), 4, [Event::Suspended]);
    let fenced = journal.append(run(9), 4, &to_an_unknown_run).unwrap();
    assert_eq!(fenced, AppendOutcome::Fenced { actual_seq: 0 });

    assert_eq!(
        journal.append(run(1), 2, &[]).unwrap(),
        AppendOutcome::Committed
    );
    assert_eq!(journal.read(run(1), 0).unwrap(), stored);
    assert_eq!(journal.read(run(9), 0).unwrap(), []);
    assert_eq!(journal.summary(run(9)).unwrap(), None);
}

/// An event of an unknown type is returned with its original type and data.
pub(crate) fn events_of_a_later_release_keep_their_raw_value<B: JournalBackend>(
    fresh: impl Fn() -> B,
) {
    let backend = fresh();
    let journal = backend.open();
    let data = json!({"phase": "full", "nested": [1, 2.5, null, {"deep": "\u{0}\u{1F319}"}]});
    let later = [
        Event::Unknown {
            kind: "moon_phase_changed".to_owned(),
            data,
        },
        Event::Unknown {
            kind: "moon_set".to_owned(),
            data: json!(null),
        },
        Event::Unknown {
            kind: "run_finished".to_owned(),
            data: json!({"outcome": "eaten"}),
        },
    ];
    let stored = append(&journal, run(1), 0, later);
    assert_eq!(journal.read(run(1), 0).unwrap(), stored);
    let summary = journal.summary(run(1)).unwrap().unwrap();
    assert_eq!((summary.last_seq, summary.task), (3, None));
}

/// A later connection reads everything that an earlier one acknowledged as durable.
pub(crate) fn a_journal_opened_again_has_everything<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let first = backend.open();
    let mut stored = append(&first, run(1), 0, [created("mend it", "/w")]);
    drop(first);
    let second = backend.open();
    stored.extend(append(&second, run(1), 1, [began(1)]));
    drop(second);
    assert_eq!(backend.open().read(run(1), 0).unwrap(), stored);
}

/// Each run has its own sequence numbers and its own events.
pub(crate) fn runs_do_not_see_each_other<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let one = append(&journal, run(1), 0, [created("one", "/w"), began(1)]);
    let two = append(&journal, run(2), 0, [created("two", "/w")]);
    assert_eq!(journal.read(run(1), 0).unwrap(), one);
    assert_eq!(journal.read(run(2), 0).unwrap(), two);
}

/// The iterator returns the same events as a single read, wherever it begins and however long the run is. It
/// also returns events that are appended while it is read.
pub(crate) fn long_runs_are_read_in_pages<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    let mut stored = append(&journal, run(1), 0, (1..=256).map(began));
    for after_seq in [0, 1, 127, 128, 129, 255, 256, 257] {
        let rest: Vec<_> = stored
            .iter()
            .filter(|event| event.seq > after_seq)
            .cloned()
            .collect();
        let read: Result<Vec<_>, _> = journal.events(run(1), after_seq).collect();
        assert_eq!(read.unwrap(), rest);
        assert_eq!(
            journal.page(run(1), after_seq, 3).unwrap(),
            rest[..rest.len().min(3)]
        );
    }

    let mut events = journal.events(run(1), 0);
    let mut read = vec![events.next().unwrap().unwrap()];
    stored.extend(append(&backend.open(), run(1), 256, [Event::Suspended]));
    read.extend(events.map(Result::unwrap));
    assert_eq!(read, stored);
}
