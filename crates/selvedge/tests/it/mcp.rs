//! The MCP server as a client sees it: JSON-RPC, one message per line, on standard input and output.

use std::fs::{File, OpenOptions};
use std::io::Write;

use selvedge_testkit::{SpawnedProgram, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, run_json};

/// A session with the server. A named pipe keeps its standard input open between requests.
struct Session {
    server: SpawnedProgram,
    input: File,
    requests: u64,
}

impl Session {
    fn open(env: &TestEnv) -> Self {
        let pipe = env.root().join("pipe");
        env.command("mkfifo").arg(&pipe).run().assert_code(0);
        let program = env!("CARGO_BIN_EXE_selvedge");
        let server = env
            .command("sh")
            .args(["-c", "exec \"$0\" mcp < ../pipe", program]);
        let mut session = Self {
            server: server.spawn(),
            input: OpenOptions::new().write(true).open(pipe).unwrap(),
            requests: 0,
        };
        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let server = session.request("initialize", &hello);
        assert_eq!(
            server["result"]["serverInfo"]["name"], "selvedge",
            "{server}"
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&mut self, message: &Value) {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.server.wait_for_stdout(&format!("\"id\":{id}"));
        loop {
            let output = self.server.stdout();
            let complete = output
                .rsplit_once('\n')
                .map_or("", |(complete, _)| complete);
            let answers = complete
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            if let Some(answer) = answers.into_iter().find(|answer| answer["id"] == id) {
                return answer;
            }
            std::thread::yield_now();
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

/// Returns a tool's text, and whether it is an error.
fn tool_text(answer: &Value) -> (&str, bool) {
    let text = answer["result"]["content"][0]["text"].as_str();
    let is_error = answer["result"]["isError"].as_bool().unwrap_or_default();
    (text.unwrap(), is_error)
}

#[test]
fn mcp_verify_reports_failures_until_checks_pass() {
    let env = env_with_repo();
    let mut session = Session::open(&env);
    let answer = session.call("verify", &json!({}));
    let (text, is_error) = tool_text(&answer);
    assert!(is_error && text.contains("no checks"), "{text}");

    env.write("selvedge.toml", "[[checks]]\nname = \"answer\"\nrun = \"grep 42 answer || { echo 'app.py:7: error: bad'; exit 1; }\"\n");
    let answer = session.call("verify", &json!({}));
    let (text, is_error) = tool_text(&answer);
    assert!(!is_error, "{text}");
    for part in ["1 of 1", "answer: FAIL", "app.py:7"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    env.write("answer", "42\n");
    let answer = session.call("verify", &json!({}));
    assert_eq!(tool_text(&answer), ("verified: 1 check passed", false));
    env.write("selvedge.toml", "[[checks]]\nrun = \"no-such-program\"\n");
    let answer = session.call("verify", &json!({}));
    assert!(tool_text(&answer).1, "{answer}");

    drop(session.input);
    session.server.wait().assert_code(0);
}

#[test]
fn mcp_digest_and_show_work_and_bad_calls_are_rejected() {
    let env = env_with_repo();
    let mut session = Session::open(&env);
    let tools = session.request("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["verify", "digest", "show"]);
    assert!(
        tools
            .iter()
            .all(|tool| tool["inputSchema"]["type"] == "object")
    );

    let log = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n";
    let answer = session.call("digest", &json!({"output": log, "exit_code": 2}));
    assert!(tool_text(&answer).0.contains("src/app.ts"), "{answer}");

    assert!(
        tool_text(&session.call("show", &json!({}))).1,
        "no runs yet"
    );
    run_json(&env, &agent(&env, "echo good > out"), "test -s out", &[]).assert_code(0);
    let answer = session.call("show", &json!({"run": "last"}));
    let (story, is_error) = tool_text(&answer);
    assert!(
        !is_error && story.contains("verified: 1 check passed"),
        "{story}"
    );
    assert!(!story.contains('\u{1b}'), "{story:?}");
    assert!(tool_text(&session.call("show", &json!({"attempt": 7}))).1);

    for (tool, arguments) in [
        ("rm", json!({})),
        ("digest", json!({})),
        ("verify", json!({"dir": "/"})),
        ("digest", json!({"output": 7})),
    ] {
        let answer = session.call(tool, &arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    drop(session.input);
    session.server.wait().assert_code(0);
}
