//! `kill -9` during appends: everything that was acknowledged is stored, in whole batches. (This cannot show
//! that acknowledged data was synced, because the kernel outlives the program. The connection's settings are
//! tested in the unit tests.)

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use selvedge_core::model::{Envelope, Event, RunId, Timestamp};
use selvedge_store::{AppendOutcome, Journal, SqliteJournal};

const STATE: &str = "SELVEDGE_TEST_STATE";
const BATCH: u64 = 3;

fn run() -> RunId {
    "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap()
}

/// Not a test, but the program that the test below starts and kills. It appends until then, and prints the
/// number of the last durable event.
#[test]
#[ignore = "runs only as the victim of another test"]
fn victim() {
    let Some(state) = env::var_os(STATE) else {
        return;
    };
    let journal = SqliteJournal::open(Path::new(&state)).unwrap();
    let mut last = journal
        .summary(run())
        .unwrap()
        .map_or(0, |summary| summary.last_seq);
    loop {
        let event = |seq| Envelope {
            v: 1,
            run_id: run(),
            seq,
            at: Timestamp::UNIX_EPOCH,
            event: Event::Suspended,
        };
        let batch: Vec<_> = (last + 1..=last + BATCH).map(event).collect();
        assert_eq!(
            journal.append(run(), last, &batch).unwrap(),
            AppendOutcome::Committed
        );
        last += BATCH;
        writeln!(std::io::stdout(), "durable {last}").unwrap();
    }
}

#[test]
fn kill_at_any_moment_keeps_acknowledged_events() {
    let state = tempfile::tempdir().unwrap();
    for acknowledgements in 1..12 {
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::victim", "--ignored", "--nocapture"])
            .env(STATE, state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        // libtest prints a few lines of its own first.
        let durable = lines.map_while(Result::ok).filter_map(|line| {
            line.rsplit_once("durable ")
                .and_then(|(_, seq)| seq.parse::<u64>().ok())
        });
        for seq in durable.take(acknowledgements) {
            acknowledged = seq;
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert_ne!(acknowledged, 0, "the victim did not start");

        let journal = SqliteJournal::open(state.path()).unwrap();
        let events = journal.read(run(), 0).unwrap();
        let last = u64::try_from(events.len()).unwrap();
        assert!(
            last >= acknowledged,
            "{acknowledged} were acknowledged, {last} are there"
        );
        assert!(events.iter().map(|event| event.seq).eq(1..=last));
        assert_eq!(last % BATCH, 0, "half a batch was kept");
        assert_eq!(journal.summary(run()).unwrap().unwrap().last_seq, last);
    }
}
