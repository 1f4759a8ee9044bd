//! Several hubs on one PostgreSQL database, and a database that goes away.

use selvedge_testkit::{Postgres, wait_until};

use super::fixture::HubFixture;
use super::losses::{WAITS, ledger};
use crate::fixtures::{env_with_repo, wait_for};

#[test]
fn replicas_share_workers_and_events() {
    if !Postgres::is_available() {
        return;
    }
    let mut fleet = HubFixture::with_database(Some(Postgres::shared().create_database()), WAITS);
    let _worker = fleet.worker("one");
    let (_second, url) = fleet.spawn_hub("127.0.0.1:0");
    let first = fleet.switch_hub(url);
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    // Hubs exchange the list of connected workers once a second.
    wait_until("the other hub's worker is listed", || {
        fleet.run(&["workers", "--format", "json"]).json()[0]["worker"] == "one"
    });
    let watching = fleet
        .command(&["watch", &task, "--format", "jsonl"])
        .spawn();
    watching.wait_for_stdout("effect_started");
    // The worker's hub is killed and restarted.
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.switch_hub(first);
    fleet.start_hub();
    let out = watching.wait();
    out.assert_code(0);
    let events = out.jsonl();
    let numbers: Vec<u64> = events.iter().filter_map(|it| it["seq"].as_u64()).collect();
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "each event once"
    );
    assert_eq!(fleet.closings(&task), ["report"]);
    assert_eq!(ledger(&fleet), ["1"]);
}

#[test]
fn database_crash_during_a_task_loses_nothing() {
    if !Postgres::is_available() {
        return;
    }
    let server = Postgres::start();
    let fleet = HubFixture::with_database(Some(server.create_database()), WAITS);
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    server.stop_immediately();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    server.restart();
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    assert_eq!(
        out.json()["verification_attempts"],
        1,
        "machinery is not charged"
    );
    let closings = fleet.closings(&task);
    let (last, before) = closings.split_last().unwrap();
    assert_eq!(last, "report");
    assert!(
        before.iter().all(|how| how == "interrupted"),
        "{closings:?}"
    );
    let numbers: Vec<String> = (1..=closings.len())
        .map(|number| number.to_string())
        .collect();
    assert_eq!(ledger(&fleet), numbers);
}

#[test]
fn database_that_cannot_be_used_is_reported_with_a_hint() {
    let env = env_with_repo();
    let refused = |url: &str, code: i32, parts: &[&str]| {
        let out = env
            .selvedge(["hub", "--listen", "127.0.0.1:0", "--database", url])
            .run();
        out.assert_code(code);
        for part in parts {
            assert!(out.stderr.contains(part), "{part}: {}", out.stderr);
        }
        assert!(
            !out.stderr.contains("s3cret") && !out.stdout.contains("s3cret"),
            "{}",
            out.stderr
        );
    };
    refused(
        "mysql://me:s3cret@db/hub",
        2,
        &["mysql://", "postgres://USER@HOST/DATABASE"],
    );
    refused(
        "postgres://me:s3cret@db:port/hub",
        2,
        &["invalid database address", "PGPASSWORD"],
    );
    refused(
        "postgres://me:s3cret@127.0.0.1:1/hub",
        9,
        &["me@127.0.0.1:1/hub", "server is running"],
    );
    if !Postgres::is_available() {
        return;
    }
    let server = Postgres::shared();
    let url = server.create_database();
    let database = url.rsplit('/').next().unwrap();
    server.run_sql(&url, "CREATE ROLE stranger LOGIN");
    refused(
        &server.url("stranger", database),
        9,
        &["permission denied", "CREATE DATABASE"],
    );
}
