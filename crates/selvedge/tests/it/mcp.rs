//! The tool server as a client meets it: JSON-RPC, a message a line, over standard input and output.

use std::fs::{File, OpenOptions};
use std::io::Write;

use selvedge_testkit::{SpawnedProgram, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, run_json};

/// A session with the server. A pipe with a name holds its standard input open between the requests.
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
        let server = session.ask("initialize", &hello);
        assert_eq!(
            server["result"]["serverInfo"]["name"], "selvedge",
            "{server}"
        );
        session.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn say(&mut self, message: &Value) {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.server.wait_for_stdout(&format!("\"id\":{id}"));
        loop {
            let said = self.server.stdout();
            let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let answers = whole
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            if let Some(answer) = answers.into_iter().find(|answer| answer["id"] == id) {
                return answer;
            }
            std::thread::yield_now();
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

/// What a tool said, and whether it calls that an error.
fn said(answer: &Value) -> (&str, bool) {
    let text = answer["result"]["content"][0]["text"].as_str();
    let is_error = answer["result"]["isError"].as_bool().unwrap_or_default();
    (text.unwrap(), is_error)
}

#[test]
fn an_agent_verifies_its_own_work_until_the_checks_hold() {
    let env = env_with_repo();
    let mut session = Session::open(&env);
    let answer = session.call("verify", &json!({}));
    let (text, is_error) = said(&answer);
    assert!(is_error && text.contains("no checks"), "{text}");

    env.write("selvedge.toml", "[[checks]]\nname = \"answer\"\nrun = \"grep 42 answer || { echo 'app.py:7: error: bad'; exit 1; }\"\n");
    let answer = session.call("verify", &json!({}));
    let (text, is_error) = said(&answer);
    assert!(!is_error, "{text}");
    for part in ["1 of 1", "answer: FAIL", "app.py:7"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    env.write("answer", "42\n");
    let answer = session.call("verify", &json!({}));
    assert_eq!(said(&answer), ("verified: 1 check passed", false));
    env.write("selvedge.toml", "[[checks]]\nrun = \"no-such-program\"\n");
    let answer = session.call("verify", &json!({}));
    assert!(said(&answer).1, "{answer}");

    drop(session.input);
    session.server.wait().assert_code(0);
}

#[test]
fn it_digests_and_tells_stories_and_refuses_what_it_does_not_know() {
    let env = env_with_repo();
    let mut session = Session::open(&env);
    let tools = session.ask("tools/list", &json!({}));
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
    assert!(said(&answer).0.contains("src/app.ts"), "{answer}");

    assert!(
        said(&session.call("show", &json!({}))).1,
        "there are no runs yet"
    );
    run_json(&env, &agent(&env, "echo good > out"), "test -s out", &[]).assert_code(0);
    let answer = session.call("show", &json!({"run": "last"}));
    let (story, is_error) = said(&answer);
    assert!(
        !is_error && story.contains("verified: 1 check passed"),
        "{story}"
    );
    assert!(!story.contains('\u{1b}'), "{story:?}");
    assert!(said(&session.call("show", &json!({"attempt": 7}))).1);

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
