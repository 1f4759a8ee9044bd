//! Pages and counts by SQL against the same cut out of a list of everything; and facts that are kept.

use rusqlite::params;
use selvedge_core::fleet::TaskState;
use selvedge_core::model::{Outcome, TaskId};
use uuid::Uuid;

use super::SqliteHub;
use crate::hub::board::{self, BoardFilter, BoardPage, ListOrder};
use crate::hub::rows::NewTask;
use crate::hub::traits::{Queue, Settings};

const TENANT: &str = "ours";

fn task(number: u32, tenant: &str) -> NewTask {
    let id = 0x0190_0000_0000_7000_8000_0000_0000_0000 + (u128::from(number) << 80);
    NewTask {
        task_id: TaskId::new(Uuid::from_u128(id)),
        tenant: tenant.to_owned(),
        submitted_by: "ada".to_owned(),
        retry_of: None,
        title: format!(
            "Task {number} of {}",
            if number.is_multiple_of(2) {
                "Login"
            } else {
                "cart"
            }
        ),
        agent: (!number.is_multiple_of(3)).then(|| format!("agent-{}", number % 3)),
        place: number
            .is_multiple_of(5)
            .then(|| "https://example.org/LOGIN.git".to_owned()),
        priority: 0,
        labels: Vec::new(),
        max_attempts: 3,
        body: "{}".to_owned(),
        idempotency: None,
    }
}

/// A store with so many tasks of a bit of every kind, as their columns alone tell.
async fn filled(path: &std::path::Path, tasks: u32) -> SqliteHub {
    let hub = SqliteHub::open(path, Settings::default()).unwrap();
    for number in 0..tasks {
        let tenant = if number % 11 == 10 { "theirs" } else { TENANT };
        let _ = hub.submit(task(number, tenant)).await.unwrap();
    }
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch(
        "UPDATE task SET state = 'failed', outcome = 'stuck', last_run = 3 WHERE task_no % 4 = 1;
         UPDATE task SET state = 'succeeded', outcome = 'verified', last_run = 1,
                         updated_at = updated_at + task_no * 7 % 13 WHERE task_no % 4 = 2;
         UPDATE task SET event_seq = task_no % 3;",
    )
    .unwrap();
    let costs = "INSERT INTO cost SELECT task_no, 1, 'c' || value, 0,
                     CASE WHEN (task_no + value) % 5 = 0 THEN NULL ELSE task_no * 31 % 17 + value END,
                     'reported', task_no * 13 % 29, value, '{}'
                 FROM task, json_each('[1, 2]') WHERE task_no % 3 > 0";
    db.execute(costs, params![]).unwrap();
    hub
}

#[tokio::test]
async fn pages_and_counts_are_those_of_a_list_of_everything() {
    let directory = tempfile::tempdir().unwrap();
    let hub = filled(&directory.path().join("hub.db"), 90).await;
    let all = board::all(&hub, TENANT).await.unwrap();
    assert_eq!(all.len(), 82);
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        (None, None),
        (text("default"), None),
        (text("agent-1"), text("lOgIn")),
        (None, text("0190")),
        (None, text("nothing like it")),
    ];
    for (agent, text) in filters {
        let tenant = TENANT.to_owned();
        let filter = BoardFilter {
            tenant,
            agent,
            text,
        };
        let mut counted = hub.census(filter.clone()).await.unwrap();
        counted.kinds.sort_by_key(|kind| format!("{kind:?}"));
        assert_eq!(counted, board::census(&all, &filter), "{filter:?}");
        for order in [
            ListOrder::Newest,
            ListOrder::Oldest,
            ListOrder::Lately,
            ListOrder::Dearest,
            ListOrder::Tokens,
            ListOrder::Attempts,
        ] {
            let kinds = vec![
                (TaskState::Queued, None),
                (TaskState::Failed, Some(Outcome::Stuck)),
            ];
            for (kinds, skip) in [(None, 0), (None, 37), (Some(kinds), 3), (Some(vec![]), 0)] {
                let page = BoardPage {
                    kinds,
                    order,
                    skip,
                    limit: 20,
                };
                let shown = hub.board(filter.clone(), page.clone()).await.unwrap();
                assert_eq!(shown, board::page(all.clone(), &filter, &page), "{page:?}");
            }
        }
    }
}

#[tokio::test]
async fn facts_are_kept_until_the_journal_goes_on_and_never_replaced_by_earlier_ones() {
    let directory = tempfile::tempdir().unwrap();
    let hub = filled(&directory.path().join("hub.db"), 6).await;
    let lines = hub.facts(TENANT.to_owned()).await.unwrap();
    assert!(
        lines
            .iter()
            .all(|line| line.event_seq > 0 && line.kept.is_none())
    );
    let first = lines.first().unwrap().task_id;
    let keep = |seq, body: &str| hub.keep_facts(vec![(first, seq, body.to_owned())]);
    keep(4, "four").await.unwrap();
    keep(3, "three").await.unwrap();
    let kept = |lines: Vec<board::FactLine>| lines.into_iter().find_map(|line| line.kept);
    let lines = hub.facts(TENANT.to_owned()).await.unwrap();
    assert_eq!(kept(lines), Some((4, "four".to_owned())));
    let others = hub.facts("theirs".to_owned()).await.unwrap();
    assert_eq!(kept(others), None);
}

/// Not a test of behaviour: `cargo test -p selvedge-store --release -- --ignored --nocapture pages_of`
/// prints how long pages of 10,000 tasks take.
#[tokio::test]
#[ignore = "measures"]
async fn pages_of_ten_thousand_tasks() {
    let directory = tempfile::tempdir().unwrap();
    let hub = filled(&directory.path().join("hub.db"), 10_000).await;
    let tenant = TENANT.to_owned();
    let filter = BoardFilter {
        tenant,
        ..BoardFilter::default()
    };
    for order in [ListOrder::Newest, ListOrder::Dearest, ListOrder::Tokens] {
        for skip in [0, 9_000] {
            let page = BoardPage {
                kinds: None,
                order,
                skip,
                limit: 40,
            };
            let began = std::time::Instant::now();
            hub.board(filter.clone(), page).await.unwrap();
            eprintln!("{order:?} after {skip}: {:?}", began.elapsed());
        }
    }
    let began = std::time::Instant::now();
    hub.census(filter).await.unwrap();
    eprintln!("counts: {:?}", began.elapsed());
}
