//! Monitoring of a hub: metrics, and a log with the ids of requests.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use selvedge_testkit::{SpawnedProgram, TestEnv, wait_until};
use serde_json::Value;

use super::fixture::HubFixture;
use crate::fixtures::env_with_repo;

/// Sends a request to a hub; returns the whole response.
fn request(url: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let mut head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    connection
        .write_all(format!("{head}\r\n").as_bytes())
        .unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}

/// All words of a text that begin like a metric.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let metrics = words.filter(|word| word.starts_with("selvedge_"));
    metrics.map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_of_the_hub() {
    let fleet = HubFixture::new("echo good > out");
    let _worker = fleet.worker("w");
    let task = fleet.submit("grep -q good out", &[]);
    fleet.watch(&task).assert_code(0);
    let token = format!("Bearer {}", fleet.read_token());
    let metrics = || request(fleet.hub_url(), "/metrics", &[("Authorization", &token)]);
    wait_until("the duration of the task", || {
        metrics().contains("selvedge_task_duration_seconds_count{outcome=\"verified\"} 1")
    });
    let text = metrics();
    assert!(
        text.contains("selvedge_task_wait_seconds_count 1"),
        "{text}"
    );
    assert!(
        text.contains("method=\"POST\",route=\"/api/v1/tasks\",status=\"2xx\""),
        "{text}"
    );
    let known = metrics_in(&text);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitoring");
    for file in ["alerts.yaml", "dashboard.json"] {
        let named = metrics_in(&std::fs::read_to_string(folder.join(file)).unwrap());
        assert!(named.len() > 5, "{file}: {named:?}");
        // Only hubs with an object store have these.
        let is_always_there = |name: &&String| !name.starts_with("selvedge_object_store_");
        let unknown: Vec<_> = named.difference(&known).filter(is_always_there).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

/// The lines of a log, all of which must be JSON.
fn json_lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(parse).collect()
}

/// Starts a hub with a JSON log, and returns its URL.
fn start_json_hub(env: &TestEnv, filter: &str) -> (SpawnedProgram, String) {
    let address = free_address();
    let hub = env
        .selvedge(["hub", "--log-format", "json", "--listen", &address])
        .args(["--database", "hub.db", "--admin-token-file", "a.token"])
        .env("SELVEDGE_LOG", filter)
        .spawn();
    wait_until("the hub", || TcpStream::connect(&address).is_ok());
    (hub, format!("http://{address}"))
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn json_log_has_the_ids_of_requests() {
    let env = env_with_repo();
    let (hub, url) = start_json_hub(&env, "info,selvedge_hub=debug");
    let response = request(&url, "/healthz", &[("X-Request-Id", "build-512")]);
    assert!(
        response.contains("x-request-id: build-512\r\n"),
        "{response}"
    );
    let response = request(&url, "/api/v1/tasks/x", &[("X-Request-Id", "a b")]);
    assert!(response.starts_with("HTTP/1.1 401"), "{response}");
    let (_, made) = response.split_once("x-request-id: ").unwrap();
    let made = made.lines().next().unwrap();
    assert_eq!(made.len(), 36);
    wait_until("the line of the second request", || {
        hub.stderr().contains(made)
    });
    hub.terminate();
    let out = hub.wait();
    assert_eq!(out.stdout, "");
    let lines = json_lines(&out.stderr);
    let line_of = |id: &str| lines.iter().find(|line| line["span"]["request_id"] == id);
    let line = line_of("build-512").unwrap();
    assert_eq!(line["level"], "DEBUG");
    assert_eq!(line["span"]["route"], "/healthz");
    assert_eq!(line["status"], 200);
    let line = line_of(made).unwrap();
    assert_eq!(line["span"]["route"], "/api/v1/tasks/{id}");
    let messages: Vec<_> = lines.iter().map(|line| &line["message"]).collect();
    assert!(messages.contains(&&Value::from(format!("listening on {url}"))));

    let out = env.selvedge(["hub", "--log-format", "json"]);
    let out = out.env("SELVEDGE_LOG", "x=loud").run();
    out.assert_code(2);
    let lines = json_lines(&out.stderr);
    let message = lines[0]["message"].as_str().unwrap();
    assert!(message.contains("SELVEDGE_LOG: invalid filter `x=loud`"));
}

#[test]
fn failed_request_has_its_id_at_the_level_of_errors() {
    let env = env_with_repo();
    let (hub, url) = start_json_hub(&env, "error");
    std::fs::remove_file(env.work_dir().join("hub.db")).unwrap();
    // A result of the probe is reused for a moment.
    wait_until("a failed request", || {
        request(&url, "/readyz", &[("X-Request-Id", "probe-7")]).starts_with("HTTP/1.1 503")
    });
    wait_until("its line", || hub.stderr().contains("request failed"));
    hub.kill();
    let lines = json_lines(&hub.wait().stderr);
    let mut failed = lines.iter();
    let failed = failed.find(|line| line["message"] == "request failed");
    let failed = failed.unwrap();
    assert_eq!(failed["level"], "ERROR");
    assert_eq!(failed["span"]["request_id"], "probe-7");
}

#[test]
fn errors_of_servers_are_json_in_a_json_log() {
    let env = env_with_repo();
    let run = |args: &[&str]| {
        let out = env.selvedge(args).args(["--log-format", "json"]).run();
        let mut lines = json_lines(&out.stderr);
        lines.pop().unwrap()
    };
    let error = run(&["hub", "--listen", "0.0.0.0:0"]);
    assert_eq!(error["level"], "ERROR");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("unencrypted to 0.0.0.0:0"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--tls-cert"));
    let error = run(&["worker", "--hub", "http://127.0.0.1:1"]);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("missing token"), "{error}");
}

#[test]
fn text_log_of_worker_is_redacted_and_has_levels() {
    let fleet = HubFixture::new("true");
    let secret = ("SOME_TOKEN", "hunter22-Zq9x7Lk");
    let worker = fleet.worker_with("hunter22-Zq9x7Lk", &[secret]);
    worker.terminate();
    let log = worker.wait().stderr;
    assert!(
        log.contains("INFO worker [redacted:SOME_TOKEN]: 2 slots"),
        "{log}"
    );
    assert!(!log.contains("hunter22"), "{log}");
}
