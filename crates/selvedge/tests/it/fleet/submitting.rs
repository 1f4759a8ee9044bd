//! Commands whose hub disappears or does not answer, and Ctrl-C while a task is running.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::fixture::HubFixture;
use super::losses::WAITS;
use crate::fixtures::{env_with_repo, wait_for};

/// Reads a request; returns its idempotency key.
fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut key, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or_default();
        match name.to_lowercase().as_str() {
            "idempotency-key" => value.clone_into(&mut key),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    key
}

/// A hub whose first answer is lost; returns its URL, and the idempotency keys of two requests.
fn hub_that_loses_an_answer(
    status: &'static str,
    body: &'static str,
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let hub = std::thread::spawn(move || {
        let mut keys = Vec::new();
        for is_lost in [true, false] {
            let (mut stream, _) = listener.accept().unwrap();
            keys.push(read_request(&stream));
            if !is_lost {
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
        keys
    });
    (url, hub)
}

#[test]
fn submit_and_bulk_retry_send_the_same_request_again_after_a_lost_answer() {
    let env = env_with_repo();
    let submitted = r#"{"task_id": "0190163d-8694-739b-aea5-966c26f8ad91", "state": "queued", "repeated": true,
                        "warnings": []}"#;
    let submit = ["submit", "do it", "--repo", "https://git.example/shop"];
    for (args, status, body) in [
        (&submit[..], "201 Created", submitted),
        (&["retry", "--dead"], "200 OK", r#"{"tasks": []}"#),
    ] {
        let (url, hub) = hub_that_loses_an_answer(status, body);
        let command = env.selvedge(args).env("SELVEDGE_HUB", &url);
        let out = command.env("SELVEDGE_TOKEN", "slv_test").run();
        out.assert_code(0);
        assert!(out.stderr.contains("sending it again"), "{}", out.stderr);
        let keys = hub.join().unwrap();
        assert!(!keys[0].is_empty(), "{keys:?}");
        assert_eq!(keys[0], keys[1]);
    }
}

#[test]
fn submit_refuses_an_address_with_a_password() {
    let fleet = HubFixture::new("true");
    let out = fleet.run(&[
        "submit",
        "do it",
        "--repo",
        "https://ada:hunter2@git.example/shop",
    ]);
    out.assert_code(2);
    assert!(out.stderr.contains("contains a password"), "{}", out.stderr);
    assert!(!out.stderr.contains("hunter2"), "{}", out.stderr);
    assert_eq!(
        fleet.run(&["list", "--format", "json"]).json(),
        serde_json::json!([])
    );
}

#[test]
fn run_on_a_hub_offers_to_cancel_after_an_interrupt() {
    let fleet = HubFixture::new(WAITS);
    let _worker = fleet.worker("one");
    let repo = fleet.env.work_dir();
    let repo = repo.to_str().unwrap();
    let args = [
        "run", "do it", "--repo", repo, "--check", "true", "--format", "jsonl",
    ];
    let run = fleet.command(&args).spawn();
    wait_for(&fleet.env.root().join("began-1"));
    run.wait_for_stdout("effect_started");
    run.interrupt();
    run.wait_for_stderr("continues on the hub");
    run.wait_for_stderr("again within 5 s to cancel it");
    run.interrupt();
    let out = run.wait();
    out.assert_code(10);
    let listed = fleet.run(&["list", "--format", "json"]).json();
    assert_eq!(listed[0]["state"], "cancelled", "{listed:#}");
    assert_eq!(listed[0]["cancel_reason"], "cancelled by Ctrl-C");
    let task = listed[0]["task_id"].as_str().unwrap();

    // Who watches only leaves.
    let task = fleet.run(&["retry", task, "--format", "json"]).json()["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let watch = fleet.command(&["watch", &task]).spawn();
    watch.wait_for_stderr("running on one");
    watch.interrupt();
    let out = watch.wait();
    out.assert_code(130);
    assert!(
        out.stderr.contains("continues on the hub"),
        "{}",
        out.stderr
    );
    assert_eq!(fleet.row(&task)["state"], "running");
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.watch(&task).assert_code(0);
}
