//! Tokens of workers that end and are replaced, files of tokens, the recovery of access, and the audit log.

use super::fixture::HubFixture;
use super::losses::{WAITS, ledger};
use crate::fixtures::{env_with_repo, wait_for};

/// The id of the token with a name.
fn token_id(fleet: &HubFixture, name: &str) -> String {
    let tokens = fleet.run(&["tokens", "--format", "json"]).json();
    let tokens = tokens.as_array().unwrap();
    let found = tokens.iter().find(|token| token["name"] == name).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

/// Creates another token for workers and puts it into their file.
fn replace_worker_token(fleet: &HubFixture, name: &str) {
    let file = fleet.env.root().join(format!("{name}.token"));
    let out = file.to_str().unwrap();
    let created = fleet.run(&["tokens", "add", name, "--scope", "worker", "--out", out]);
    created.assert_code(0);
    std::fs::rename(&file, fleet.env.root().join("worker.token")).unwrap();
}

fn revoke(fleet: &HubFixture, name: &str) {
    let id = token_id(fleet, name);
    fleet.run(&["tokens", "revoke", &id]).assert_code(0);
}

#[test]
fn worker_continues_with_a_replaced_token() {
    let fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    revoke(&fleet, "workers");
    worker.wait_for_stderr("the token was revoked or has expired");
    worker.wait_for_stderr("waiting for a new token in");
    replace_worker_token(&fleet, "second");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    // With the new token in place, the work is not interrupted.
    replace_worker_token(&fleet, "third");
    revoke(&fleet, "second");
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.watch(&task).assert_code(0);
    assert_eq!(ledger(&fleet), ["1"], "no work was lost");
}

#[test]
fn worker_whose_token_ends_stops_its_work_and_exits() {
    let fleet = HubFixture::new(WAITS);
    let token = std::fs::read_to_string(fleet.env.root().join("worker.token")).unwrap();
    let worker = fleet
        .env
        .selvedge(["worker", "--name", "one"])
        .env("SELVEDGE_HUB", fleet.hub_url())
        .env("SELVEDGE_TOKEN", token.trim())
        .arg("--workdir")
        .arg(fleet.env.root().join("one"))
        .arg("--allow-path")
        .arg(fleet.env.work_dir())
        .spawn();
    worker.wait_for_stderr("connected");
    fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    revoke(&fleet, "workers");
    let out = worker.wait();
    out.assert_code(2);
    for text in ["lease lost", "invalid token: unknown, revoked or expired"] {
        assert!(out.stderr.contains(text), "{text}: {}", out.stderr);
    }
    assert!(!out.stderr.contains("panicked"), "{}", out.stderr);
}

#[test]
fn token_file_is_never_overwritten() {
    let env = env_with_repo();
    let file = env.root().join("existing.token");
    std::fs::write(&file, "in use").unwrap();
    let out = env
        .selvedge(["hub", "--listen", "127.0.0.1:0", "--admin-token-file"])
        .arg(&file)
        .run();
    out.assert_code(2);
    assert!(out.stderr.contains("not overwritten"), "{}", out.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in use");

    let fleet = HubFixture::new("true");
    let path = file.to_str().unwrap();
    let out = fleet.run(&["tokens", "add", "more", "--scope", "read", "--out", path]);
    out.assert_code(2);
    assert!(out.stderr.contains("not overwritten"), "{}", out.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in use");
    let listed = fleet.run(&["tokens"]).stdout;
    assert!(!listed.contains("more"), "no token was created: {listed}");
}

#[test]
fn empty_token_file_of_an_interrupted_start_is_filled() {
    let env = env_with_repo();
    let file = env.root().join("a.token");
    let start = || {
        let args = ["hub", "--listen", "127.0.0.1:0", "--admin-token-file"];
        let hub = env.selvedge(args).arg(&file).spawn();
        hub.wait_for_stdout("listening on http://");
        hub
    };
    // Killed before the token was created.
    std::fs::write(&file, "").unwrap();
    let hub = start();
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(token.starts_with("slv_"), "{token}");
    assert!(!hub.stderr().contains("is empty"), "{}", hub.stderr());
    hub.terminate();
    hub.wait();
    // Killed after the token was created, before it was written.
    std::fs::write(&file, "").unwrap();
    let hub = start();
    for text in ["a.token is empty", "selvedge hub recover-admin --out"] {
        hub.wait_for_stderr(text);
    }
    hub.terminate();
    hub.wait();
    let recover = env.selvedge(["hub", "recover-admin", "--out"]).arg(&file);
    recover.run().assert_code(0);
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(token.starts_with("slv_"), "{token}");

    std::fs::write(&file, "\n").unwrap();
    let list = env.selvedge(["list", "--hub", "http://127.0.0.1:1", "--token-file"]);
    let out = list.arg(&file).run();
    out.assert_code(2);
    assert!(out.stderr.contains("the file is empty"), "{}", out.stderr);
}

#[test]
fn administrator_access_is_recovered_from_the_database() {
    let mut fleet = HubFixture::new("true");
    let file = fleet.env.root().join("recovered.token");
    let recover = |fleet: &HubFixture| {
        let command = fleet.env.selvedge(["hub", "recover-admin", "--out"]);
        command.arg(&file).run()
    };
    let busy = recover(&fleet);
    busy.assert_code(9);
    assert!(
        busy.stderr.contains("stop the other one"),
        "{}",
        busy.stderr
    );
    assert!(!file.exists());
    let hub = fleet.hub.take().unwrap();
    hub.terminate();
    hub.wait();
    let recovered = recover(&fleet);
    recovered.assert_code(0);
    std::fs::rename(&file, fleet.token()).unwrap();
    fleet.start_hub();

    let last = fleet
        .run(&["audit", "--limit", "1", "--format", "json"])
        .json();
    assert_eq!(last[0]["action"], "token.create");
    assert_eq!(last[0]["channel"], "database");
    let actor = last[0]["actor"].as_str().unwrap();
    assert!(actor.starts_with("selvedge hub recover-admin"), "{actor}");
    let exported = fleet.run(&["audit", "--format", "jsonl"]).jsonl();
    let numbers: Vec<_> = exported.iter().map(|entry| entry["seq"].as_u64()).collect();
    assert!(numbers.is_sorted() && numbers.len() == 3, "{exported:?}");
    assert_eq!(exported[1]["actor"], "first administrator");
    let shown = fleet.run(&["audit", "--action", "token.create"]).stdout;
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let first = token_id(&fleet, "first administrator");
    fleet.run(&["tokens", "revoke", &first]).assert_code(0);
    let recovered = token_id(&fleet, "recovered administrator");
    let refused = fleet.run(&["tokens", "revoke", &recovered]);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("last valid token"),
        "{}",
        refused.stderr
    );
}
