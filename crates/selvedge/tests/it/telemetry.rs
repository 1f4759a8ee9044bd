//! Traces over OTLP, received by a collector on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// A request to a collector.
struct Export {
    head: String,
    body: Vec<u8>,
}

impl Export {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn resource(&self) -> BTreeMap<String, Value> {
        attributes(&self.json()["resourceSpans"][0]["resource"])
    }
}

/// Receives exports on a free port until the test ends, and answers with a JSON text.
fn start_collector(answer: &'static str) -> (String, mpsc::Receiver<Export>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, exports) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let export = receive(connection.unwrap(), answer);
            if sender.send(export).is_err() {
                break;
            }
        }
    });
    (url, exports)
}

fn receive(connection: TcpStream, answer: &str) -> Export {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let length = answer.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
    );
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    Export { head, body }
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
    let (url, exports) = start_collector("{}");
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
        assert_eq!(export.resource()["service.name"], "nightly");
        let resource = &export.json()["resourceSpans"][0];
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

/// Runs a task that is verified, with some variables of OpenTelemetry.
fn run_with(env: &TestEnv, variables: &[(&str, &str)]) -> CommandOutput {
    let agent = agent(env, "echo \"$SELVEDGE_RUN_ID\" > out");
    let run = env.selvedge(["run", "do it", "--agent-cmd", &agent, "--check", "true"]);
    let run = variables
        .iter()
        .fold(run, |run, (name, value)| run.env(name, value));
    let out = run.run();
    out.assert_code(0);
    out
}

#[test]
fn variables_of_the_specification_are_honoured() {
    let env = env_with_repo();
    let (url, exports) = start_collector("{}");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str());
    let run = |variables: &[(&str, &str)]| {
        let out = run_with(&env, &[&[endpoint], variables].concat());
        (out.stderr, exports.try_iter().collect::<Vec<_>>())
    };
    let (_, exported) = run(&[]);
    assert_eq!(exported[0].resource()["service.name"], "selvedge");
    let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "team=x,service.name=nightly");
    let (_, exported) = run(&[attributes]);
    let resource = exported[0].resource();
    assert_eq!(
        (&resource["service.name"], &resource["team"]),
        (&"nightly".into(), &"x".into())
    );
    let (_, exported) = run(&[attributes, ("OTEL_SERVICE_NAME", "other")]);
    assert_eq!(exported[0].resource()["service.name"], "other");

    let (stderr, exported) = run(&[("OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP")]);
    assert!(exported[0].head.contains("content-encoding: gzip"));
    assert!(exported[0].body.starts_with(&[0x1f, 0x8b]));
    assert!(!stderr.contains("OTEL_"), "{stderr}");

    let own = url.replace("//", "//me:hunter22-Zq9x7Lk@") + "/own";
    let (_, exported) = run(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &own)]);
    let head = &exported[0].head;
    assert!(head.starts_with("post /own http/1.1"), "{head}");

    for variable in [
        ("OTEL_SDK_DISABLED", "TRUE"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let (_, exported) = run(&[variable]);
        assert!(exported.is_empty(), "{variable:?}");
    }
}

#[test]
fn broken_settings_of_the_export_are_warnings() {
    let env = env_with_repo();
    let (url, exports) = start_collector("{}");
    let out = run_with(
        &env,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zip"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ],
    );
    for text in [
        "OTEL_EXPORTER_OTLP_TIMEOUT: invalid time `soon` is ignored",
        "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: unsupported value `zip` is ignored",
        "OTEL_EXPORTER_OTLP_PROTOCOL: unsupported value `grpc` is ignored",
    ] {
        assert!(out.stderr.contains(text), "{text}: {}", out.stderr);
    }
    assert!(exports.try_iter().count() > 0);
    let out = run_with(&env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "not a URL")]);
    let expected = "note: traces are not exported";
    assert!(out.stderr.contains(expected), "{}", out.stderr);
}

#[test]
fn lost_spans_are_reported() {
    let env = env_with_repo();
    let answer = r#"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}"#;
    let (url, _exports) = start_collector(answer);
    let out = run_with(&env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    let expected = "spans are lost: rejected by the collector: too old";
    assert!(out.stderr.contains(expected), "{}", out.stderr);

    // Connections are accepted by the system, and never answered.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    for (timeout, expected) in [
        ("50", "spans are lost"),
        ("0", "the collector did not answer in time"),
    ] {
        let out = run_with(
            &env,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", timeout),
            ],
        );
        assert!(out.stderr.contains(expected), "{timeout}: {}", out.stderr);
    }
}
