//! Journals of earlier schemas: reading, folding and continuing them.

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, Event, Outcome, RunId, Timestamp};
use selvedge_store::{AppendOutcome, Journal, RunFilter, SqliteJournal};

const FIRST: &str = include_str!("../fixtures/journal-1.sql");

#[test]
fn journal_of_first_schema_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("journal.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(FIRST).unwrap();
    drop(old);
    let journal = SqliteJournal::open(directory.path()).unwrap();
    let runs = journal.runs(&RunFilter::default(), 10, None).unwrap();
    let [summary] = runs.as_slice() else {
        panic!("one run: {runs:?}")
    };
    let events = journal.read(summary.run_id, 0).unwrap();
    assert_eq!(events.len(), 25);
    let state = events.iter().fold(JournalState::default(), evolve);
    assert!(state.unknown.is_empty(), "{:?}", state.unknown);
    let run = state.run.unwrap();
    let result = run.result();
    assert_eq!(
        (result.outcome, result.verification_attempts),
        (Outcome::Verified, 2)
    );
    assert_eq!(result.verification_history.len(), 2);
    let next: RunId = "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap();
    let event = Envelope {
        v: 1,
        run_id: next,
        seq: 1,
        at: Timestamp::UNIX_EPOCH,
        event: Event::Suspended,
    };
    assert_eq!(
        journal.append(next, 0, &[event]).unwrap(),
        AppendOutcome::Committed
    );
    journal.rebuild().unwrap();
    assert_eq!(
        journal.runs(&RunFilter::default(), 10, None).unwrap().len(),
        2
    );
}
