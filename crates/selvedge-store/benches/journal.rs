//! Cost of the journal compared with the minimum on the same disk at the same time: appending to a file and
//! syncing it. `cargo bench -p selvedge-store`; the directory can be given as an argument, because the disk
//! matters.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints what it measures, and ends where it cannot"
)]

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use selvedge_core::model::{Envelope, Event, RunId, Timestamp};
use selvedge_store::{AppendOutcome, Journal, RunFilter, SqliteJournal};
use serde_json::json;

const RUNS: u32 = 10_000;

fn run(number: u32) -> RunId {
    format!("0190163d-8694-739b-aea5-{number:012x}")
        .parse()
        .expect("a UUID")
}

fn created() -> Event {
    let data = json!({"spec": {
        "task_id": run(1), "description": "fix the flaky login test", "workspace": "/w/project",
        "agent": {"name": "claude", "kind": "claude", "program": ["claude"]},
        "verification": {"mode": "steps", "steps": [{"type": "command", "target": "cargo test"}]},
        "max_verification_retries": 2, "verification_timeout_ms": 120_000,
        "limits": {"wall_ms": 1, "silence_ms": 1}, "snapshots": true, "selvedge_version": "0.1.0",
    }});
    Event::from_parts("run_created".to_owned(), data)
}

fn batch(run_id: RunId, after: u64, events: Vec<Event>) -> Vec<Envelope> {
    (after + 1..)
        .zip(events)
        .map(|(seq, event)| Envelope {
            v: 1,
            run_id,
            seq,
            at: Timestamp::UNIX_EPOCH,
            event,
        })
        .collect()
}

/// Three events of typical size, some 1.5 KB together.
fn usual() -> Vec<Event> {
    let reason = || "what the agent said and why it stopped, in a few lines. ".repeat(8);
    vec![
        Event::SuspendRequested { reason: reason() },
        Event::CancelRequested { reason: reason() },
        Event::ReviewRequested { reason: reason() },
    ]
}

/// Median and 99th percentile of `rounds` calls.
fn time(name: &str, rounds: u32, mut go: impl FnMut(u32)) -> Duration {
    let mut times: Vec<_> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            go(round);
            start.elapsed()
        })
        .collect();
    times.sort();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!(
        "{name:44} median {median:>10.1?}   p99 {p99:>10.1?}   max {:>10.1?}",
        times[times.len() - 1]
    );
    median
}

fn append(journal: &SqliteJournal, run: RunId, last: u64, events: Vec<Event>) {
    let appended = journal
        .append(run, last, &batch(run, last, events))
        .expect("appended");
    assert_eq!(appended, AppendOutcome::Committed);
}

fn bare_sync(directory: &Path) -> Duration {
    let mut file = File::create(directory.join("bare")).expect("a file");
    let bytes = [b'x'; 1_500];
    time("bare: write 1.5 KB, fdatasync", 1_000, |_| {
        file.write_all(&bytes).expect("written");
        file.sync_data().expect("synced");
    })
}

fn appends(directory: &Path) -> Duration {
    let journal = SqliteJournal::open(directory).expect("a journal");
    append(&journal, run(0), 0, vec![created()]);
    time("append: 3 events, 1.5 KB", 1_000, |round| {
        append(&journal, run(0), 1 + u64::from(round) * 3, usual());
    })
}

fn fill(directory: &Path) {
    let journal = SqliteJournal::open(directory).expect("a journal");
    for number in 1..RUNS {
        let mut events = vec![created()];
        events.extend(usual());
        append(&journal, run(number), 0, events);
    }
}

fn main() {
    let given = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let parent = given.map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(parent).expect("a directory");
    let directory = directory.path();

    let bare = bare_sync(directory);
    let appended = appends(directory);
    println!(
        "{:44} {:.2}",
        "ratio",
        appended.as_secs_f64() / bare.as_secs_f64()
    );
    bare_sync(directory);

    time("a first run in a new journal, then close", 50, |round| {
        let state = directory.join(format!("new-{round}"));
        append(
            &SqliteJournal::open(&state).expect("a journal"),
            run(1),
            0,
            vec![created()],
        );
    });
    time("open, append 1 event, close", 200, |round| {
        let journal = SqliteJournal::open(directory).expect("a journal");
        append(&journal, run(RUNS + round), 0, vec![created()]);
    });
    fill(directory);
    time("open to write (10,000 runs)", 200, |_| {
        black_box(SqliteJournal::open(directory)).expect("a journal");
    });
    time("open to read", 200, |_| {
        black_box(SqliteJournal::open_to_read(directory)).expect("a journal");
    });
    let journal = SqliteJournal::open(directory).expect("a journal");
    time("list the newest 50 of 10,000 runs", 200, |_| {
        black_box(journal.runs(&RunFilter::default(), 50, None)).expect("listed");
    });
    let finished = RunFilter {
        finished: Some(true),
        ..RunFilter::default()
    };
    time("list finished ones, of which there are none", 200, |_| {
        black_box(journal.runs(&finished, 50, None)).expect("listed");
    });
    time("find by the end of the id", 200, |_| {
        black_box(journal.find("0000270f")).expect("found");
    });
    time("read a run of 3,001 events", 50, |_| {
        black_box(journal.read(run(0), 0)).expect("read");
    });
    time("rebuild all summaries", 1, |_| {
        journal.rebuild().expect("rebuilt");
    });
}
