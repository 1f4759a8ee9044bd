//! Tests of concurrent use.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use selvedge_core::model::Event;

use super::JournalBackend;
use super::sample::{append, began, created, numbered, run};
use selvedge_store::{AppendOutcome, Journal, RunFilter};

/// Two writers both believe that they own the run: in every round exactly one batch is written completely,
/// and the other writer gets the journal's actual end.
pub(crate) fn of_two_writers_one_is_fenced<B: JournalBackend>(fresh: impl Fn() -> B) {
    const ROUNDS: u64 = 40;
    let backend = fresh();
    let start = Barrier::new(2);
    let writer = |attempt_number: u32| {
        let journal = backend.open();
        let mut committed = 0_u64;
        for round in 0..ROUNDS {
            let last = round * 2;
            let batch = numbered(run(1), last, [began(attempt_number), began(attempt_number)]);
            start.wait();
            match journal.append(run(1), last, &batch).unwrap() {
                AppendOutcome::Committed => committed += 1,
                AppendOutcome::Fenced { actual_seq } => assert_eq!(actual_seq, last + 2),
            }
        }
        committed
    };
    let won = thread::scope(|scope| {
        let other = scope.spawn(|| writer(2));
        (writer(1), other.join().unwrap())
    });
    assert_eq!(won.0 + won.1, ROUNDS);

    let events = backend.open().read(run(1), 0).unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=ROUNDS * 2));
    for batch in events.chunks(2) {
        assert_eq!(batch[0].event, batch[1].event, "a batch is one writer's");
    }
}

/// During appends, readers see whole batches, and a summary that agrees with them.
pub(crate) fn readers_never_see_half_a_batch<B: JournalBackend>(fresh: impl Fn() -> B) {
    let backend = fresh();
    let journal = backend.open();
    append(
        &journal,
        run(1),
        0,
        [created("mend it", "/w"), Event::Suspended, Event::Suspended],
    );
    let over = AtomicBool::new(false);
    let read = || {
        let journal = backend.open();
        let mut last = 0;
        while !over.load(Ordering::Acquire) {
            let events = journal.page(run(1), 0, usize::from(u16::MAX)).unwrap();
            let summary = journal.summary(run(1)).unwrap().unwrap();
            assert_eq!(events.len() % 3, 0);
            assert_eq!(summary.last_seq % 3, 0);
            let seen = u64::try_from(events.len()).unwrap();
            assert!(last <= seen && seen <= summary.last_seq);
            last = seen;
        }
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        for round in 1..=60 {
            append(
                &journal,
                run(1),
                round * 3,
                [began(1), Event::Suspended, Event::Suspended],
            );
        }
        over.store(true, Ordering::Release);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

/// When several programs open a missing journal at once, it is created once.
pub(crate) fn many_can_open_a_new_journal_at_once<B: JournalBackend>(fresh: impl Fn() -> B) {
    for _ in 0..8 {
        let backend = fresh();
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for number in 1..=8 {
                let (backend, start) = (&backend, &start);
                scope.spawn(move || {
                    start.wait();
                    append(&backend.open(), run(number), 0, [created("mend it", "/w")]);
                });
            }
        });
        assert_eq!(
            backend
                .open()
                .runs(&RunFilter::default(), 100, None)
                .unwrap()
                .len(),
            8
        );
    }
}
