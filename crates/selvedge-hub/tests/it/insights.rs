//! The figures of the dashboard: each number of tasks links to a list of that many tasks.

use std::collections::BTreeMap;

use selvedge_core::model::{FindingKind, FindingSeverity, Outcome, TaskId, Timestamp};
use selvedge_dashboard::stats::{CheckStats, RunCategory, RunStats};
use selvedge_protocol::Scope;
use serde_json::json;

use crate::access::sign_in;
use crate::harness::{TestDatabase, TestHub, TestWorker, begin_run, entry, hello};

/// Columns that count tasks; others count events, or sum up costs and times.
const TASK_COLUMNS: [&str; 7] = [
    "tasks",
    "first attempt",
    "recovered",
    "not recovered",
    "tasks failed",
    "tasks flaky",
    "tasks fixed",
];

/// A cell of a table: its column, its text and its link.
struct Cell {
    column: String,
    text: String,
    address: Option<String>,
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

fn address(html: &str) -> Option<String> {
    let address = between(html, "<a href=\"", "\"")?;
    Some(address.replace("&#38;", "&").replace("&amp;", "&"))
}

/// The cells of all tables of a page, except for the first column.
fn cells(page: &str) -> Vec<Cell> {
    let mut cells = Vec::new();
    for table in page.split("<table class=\"plain sticky\">").skip(1) {
        let (head, rest) = table.split_once("</thead>").unwrap();
        let (body, _) = rest.split_once("</table>").unwrap();
        let columns = head.split("<th scope=\"col\"").skip(1);
        let columns: Vec<_> = columns.map(|it| between(it, ">", "<").unwrap()).collect();
        for row in body.split("</tr>") {
            for (html, column) in row.split("<td class=\"num\">").skip(1).zip(&columns[1..]) {
                let html = html.split("</td>").next().unwrap();
                let text = html
                    .rsplit_once("</a>")
                    .map_or(html, |(link, _)| link.rsplit_once('>').unwrap().1);
                cells.push(Cell {
                    column: (*column).to_owned(),
                    text: text.to_owned(),
                    address: address(html),
                });
            }
        }
    }
    cells
}

fn leading_number(text: &str) -> Option<u64> {
    text.split(' ').next()?.parse().ok()
}

/// The statistics of six runs; no two of them are alike.
fn six_runs() -> Vec<RunStats> {
    use RunCategory as R;
    let checks = |failures: u32, flaky: u32, mended: bool, slowest_ms: u64| {
        let odd = "make \"test\" && a+b=ü %2F";
        let lint = CheckStats {
            runs: 1,
            ..CheckStats::default()
        };
        let tests = CheckStats {
            runs: 3,
            failures,
            flaky,
            total_ms: slowest_ms * 2,
            slowest_ms,
            mended,
        };
        BTreeMap::from([(odd.to_owned(), tests), ("lint".to_owned(), lint)])
    };
    let run = |agent: &str, model: Option<&str>, ending: RunCategory, finished: bool| RunStats {
        accepted: false,
        run_id: "0190a1b2-0000-7000-8000-000000000001".parse().unwrap(),
        // Not the time of the submission.
        created_at: Timestamp::UNIX_EPOCH,
        agent: agent.to_owned(),
        model: model.map(str::to_owned),
        workspace: "/of/the/worker".to_owned(),
        worker: None,
        ending,
        outcome: finished.then_some(Outcome::Verified),
        attempts: 2,
        first_cost: selvedge_core::model::Cost::ZERO,
        retry_cost: selvedge_core::model::Cost::ZERO,
        tokens_in: 10,
        tokens_out: 5,
        checks: checks(0, 0, false, 20),
        guard: Vec::new(),
        verdict_ms: finished.then_some(4_000),
        caught_by_original_tests: false,
        reason: String::new(),
        search_text: "\0 the model".to_owned(),
    };
    let (exit, changed) = (FindingKind::EarlyExit, FindingKind::ProtectedChanged);
    vec![
        run("claude", Some("o\"pus 5"), R::FirstAttempt, true),
        RunStats {
            checks: checks(2, 0, true, 90_000),
            guard: vec![
                (exit, FindingSeverity::Strong),
                (exit, FindingSeverity::Strong),
            ],
            ..run("claude", Some("o\"pus 5"), R::Recovered, true)
        },
        RunStats {
            checks: checks(1, 1, false, 70),
            guard: vec![(exit, FindingSeverity::Violation)],
            caught_by_original_tests: true,
            ..run("codex", None, R::NotRecovered, true)
        },
        RunStats {
            guard: vec![(changed, FindingSeverity::Violation)],
            ..run("codex", None, R::ByAPerson, true)
        },
        run("codex", Some("haiku"), R::NotJudged, true),
        RunStats {
            checks: checks(1, 0, false, 30),
            ..run("claude", Some("haiku"), R::Open, false)
        },
    ]
}

pub(crate) async fn numbers_lead_to_so_many_tasks(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let mut all_slots = hello("loom");
    all_slots.slots = 6;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &all_slots).await;
    let mut saved = Vec::new();
    for (number, stats) in six_runs().into_iter().enumerate() {
        // Half of the tasks name their agent.
        let mut task = json!({"description": format!("task {number}"), "repository": "https://example.com/r.git"});
        if number % 2 == 0 {
            task["agent"] = json!(stats.agent);
        }
        hub.submit(&submit, &task).await;
        let lease = worker.next_assignment().await.lease;
        let task_id: TaskId = lease.task_id;
        let mut header = entry(&lease, 1);
        header.events = vec![json!({"v": 1, "run_id": task_id, "seq": 1, "type": "unknown"})];
        worker.send_acknowledged(&begin_run(header, 1), 1).await;
        let body = serde_json::to_string(&stats).unwrap();
        saved.push((task_id, 1, body.replace("\\u0000", "\\ufffd")));
    }
    hub.hub.store().save_run_stats(saved).await.unwrap();
    // A task without a run is in no figure.
    let waiting = json!({"description": "waits", "agent": "claude", "labels": ["absent"], "repository": "https://example.com/r.git"});
    hub.submit(&submit, &waiting).await;

    let cookie = format!("Cookie: {}\r\n", sign_in(&hub, &submit).await);
    let page = async |path: &str| hub.request("GET", path, None, &cookie, b"").await.body;
    let listed = async |address: &str| {
        let page = page(address).await;
        let count = between(&page, "id=\"count\">", "<");
        leading_number(count.unwrap_or_else(|| panic!("{address}: {page}"))).unwrap()
    };
    let mut seen = BTreeMap::new();
    for insights in [
        "/stats",
        "/stats?days=7",
        "/repository?name=https%3A%2F%2Fexample.com%2Fr.git",
        "/worker?name=loom",
    ] {
        let insights_page = page(insights).await;
        for share in insights_page.split("<li class=\"s-").skip(1) {
            let number = leading_number(between(share, "<strong>", "<").unwrap()).unwrap();
            let address = address(share).unwrap();
            assert_eq!(listed(&address).await, number, "{insights}: {address}");
        }
        for cell in cells(&insights_page) {
            let Cell {
                column,
                text,
                address,
            } = cell;
            let place = format!("{insights}: {column} {text}: {address:?}");
            let is_nothing = matches!(text.split(' ').next(), Some("0" | "–"));
            assert!(address.is_some() || is_nothing, "{place}");
            let Some(address) = address else { continue };
            let listed = listed(&address).await;
            if TASK_COLUMNS.contains(&column.as_str()) {
                assert_eq!(Some(listed), leading_number(&text), "{place}");
            }
            *seen.entry(column).or_insert(0) += listed;
        }
    }
    for column in [
        "times failed",
        "times flaky",
        "slowest",
        "violations",
        "for review",
    ] {
        assert!(
            seen.get(column).is_some_and(|tasks| *tasks > 0),
            "{column}: {seen:?}"
        );
    }
    for column in TASK_COLUMNS {
        assert!(seen.contains_key(column), "{column}: {seen:?}");
    }
    // The slowest check links to the run itself.
    let slow = "/?check=make%20%22test%22%20%26%26%20a%2Bb%3D%C3%BC%20%252F&check_ms=90000";
    assert_eq!(listed(slow).await, 1);
    let hostile = "/?check=%00%22%5C&check_result=failed&model=%00&finding=%27&severity=review";
    assert_eq!(listed(hostile).await, 0);
}
