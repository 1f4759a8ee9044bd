//! What operators see of a hub: metrics, and a log with the ids of requests.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use selvedge_testkit::SpawnedProgram;
use serde_json::Value;

use super::fixture::HubFixture;
use crate::fixtures::{env_with_repo, wait_until};

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
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

fn json_lines(program: &SpawnedProgram) -> Vec<Value> {
    let text = program.stderr();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn json_log_has_the_ids_of_requests() {
    let env = env_with_repo();
    let hub = env
        .selvedge(["hub", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .env("SELVEDGE_LOG", "info,selvedge_hub=debug")
        .spawn();
    hub.wait_for_stdout("listening on http://");
    hub.wait_for_stdout("\n");
    let stdout = hub.stdout();
    let url = stdout.split_whitespace().last().unwrap();
    let response = request(url, "/healthz", &[("X-Request-Id", "build-512")]);
    assert!(
        response.contains("x-request-id: build-512\r\n"),
        "{response}"
    );
    let response = request(url, "/api/v1/tasks/x", &[("X-Request-Id", "a b")]);
    assert!(response.starts_with("HTTP/1.1 401"), "{response}");
    let (_, made) = response.split_once("x-request-id: ").unwrap();
    let made = made.lines().next().unwrap();
    assert_eq!(made.len(), 36);
    let line_of = |id: &str| {
        let mut lines = json_lines(&hub).into_iter();
        lines.find(|line| line["span"]["request_id"] == id)
    };
    wait_until("the line of the second request", || line_of(made).is_some());
    let line = line_of("build-512").unwrap();
    assert_eq!(line["level"], "DEBUG");
    assert_eq!(line["span"]["route"], "/healthz");
    assert_eq!(line["status"], 200);
    assert_eq!(
        line_of(made).unwrap()["span"]["route"],
        "/api/v1/tasks/{id}"
    );

    let out = env.selvedge(["hub"]).env("SELVEDGE_LOG", "x=loud").run();
    out.assert_code(2);
    assert!(
        out.stderr.contains("SELVEDGE_LOG: invalid filter `x=loud`"),
        "{}",
        out.stderr
    );
}
