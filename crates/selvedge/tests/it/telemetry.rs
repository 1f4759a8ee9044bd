//! Traces over OTLP, received by a collector on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// A request to a collector: its head, and its JSON body.
struct Export {
    head: String,
    body: Value,
}

/// Receives exports on a free port until the test ends.
fn start_collector() -> (String, mpsc::Receiver<Export>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, exports) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let export = receive(connection.unwrap());
            if sender.send(export).is_err() {
                break;
            }
        }
    });
    (url, exports)
}

fn receive(connection: TcpStream) -> Export {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    Export {
        head,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

/// The attributes of a resource or a span, by key.
fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let list = of["attributes"].as_array().unwrap().iter();
    list.map(|it| {
        let value = it["value"].as_object().unwrap().values().next().unwrap();
        (it["key"].as_str().unwrap().to_owned(), value.clone())
    })
    .collect()
}

#[test]
fn trace_has_run_attempts_sessions_and_checks() {
    let env = env_with_repo();
    let (url, exports) = start_collector();
    let traceparent = env.root().join("traceparent");
    let script = format!(
        "printf %s \"$TRACEPARENT\" > '{}'\nif [ \"$SELVEDGE_RUN_NUMBER\" = 2 ]; then echo good > out; else echo bad > out; fi",
        traceparent.display()
    );
    let agent = agent(&env, &script);
    let out = env
        .selvedge([
            "run",
            "do it",
            "--agent-cmd",
            &agent,
            "--retries",
            "1",
            "--format",
            "json",
        ])
        .args(["--check", "grep -q good out"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc")
        .env("OTEL_SERVICE_NAME", "nightly")
        .env(
            "TRACEPARENT",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        )
        .run();
    out.assert_code(0);
    let exports: Vec<Export> = exports.try_iter().collect();
    let mut spans: BTreeMap<String, Value> = BTreeMap::new();
    for export in &exports {
        assert!(
            export.head.starts_with("post /v1/traces http/1.1"),
            "{}",
            export.head
        );
        assert!(export.head.contains("api-key: abc"), "{}", export.head);
        let resource = &export.body["resourceSpans"][0];
        assert_eq!(attributes(&resource["resource"])["service.name"], "nightly");
        for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
            let name = span["name"].as_str().unwrap().to_owned();
            let attempt = spans.keys().filter(|it| it.starts_with(&name)).count();
            spans.insert(format!("{name} #{}", attempt + 1), span.clone());
        }
    }
    let names: Vec<&str> = spans.keys().map(String::as_str).collect();
    let session = |number: u32| format!("invoke_agent command #{number}");
    let expected = [
        "attempt 1 #1",
        "attempt 2 #1",
        "baseline #1",
        "check grep -q good out #1",
        "check grep -q good out #2",
        "check grep -q good out #3",
        &session(1),
        &session(2),
        "selvedge run #1",
        "verification #1",
        "verification #2",
    ];
    assert_eq!(names, expected);

    let parent = |child: &str| spans[child]["parentSpanId"].as_str().unwrap().to_owned();
    let id = |name: &str| spans[name]["spanId"].as_str().unwrap().to_owned();
    for span in spans.values() {
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        let time = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(
            time("startTimeUnixNano") <= time("endTimeUnixNano"),
            "{span:#}"
        );
    }
    assert_eq!(parent("selvedge run #1"), "00f067aa0ba902b7");
    assert_eq!(parent("attempt 2 #1"), id("selvedge run #1"));
    assert_eq!(parent(&session(2)), id("attempt 2 #1"));
    assert_eq!(parent("verification #1"), id("attempt 1 #1"));
    assert_eq!(parent("check grep -q good out #1"), id("baseline #1"));
    // The context that the agent of the last attempt got.
    assert_eq!(
        std::fs::read_to_string(traceparent).unwrap(),
        format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", id(&session(2)))
    );

    let session = attributes(&spans[&session(1)]);
    assert_eq!(session["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(session["gen_ai.agent.name"], "command");
    let run = attributes(&spans["selvedge run #1"]);
    assert_eq!(run["selvedge.outcome"], "verified");
    assert_eq!(spans["selvedge run #1"]["status"]["code"], 1);
    assert_eq!(spans["verification #1"]["status"]["code"], 2);
}

#[test]
fn unreachable_collector_is_reported_and_changes_nothing() {
    let env = env_with_repo();
    let agent = agent(&env, "echo \"$SELVEDGE_RUN_ID\" > out");
    let run = |endpoint: &str| {
        env.selvedge(["run", "do it", "--agent-cmd", &agent, "--check", "true"])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .run()
    };
    let out = run("http://127.0.0.1:9");
    out.assert_code(0);
    assert!(
        out.stderr.contains("traces were not exported completely"),
        "{}",
        out.stderr
    );
    let out = run("");
    out.assert_code(0);
    assert!(!out.stderr.contains("traces"), "{}", out.stderr);
}
