//! The MCP server as a client sees it: JSON-RPC, one message per line, on standard input and output.

use std::fs::{File, OpenOptions};
use std::io::Write;

use selvedge_testkit::{Polling, SpawnedProgram, TestEnv, wait_until};
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
        Self::open_with(env, &[])
    }

    /// Opens a session with a server that has these environment variables.
    fn open_with(env: &TestEnv, variables: &[(&str, &str)]) -> Self {
        let pipe = env.root().join("pipe");
        env.command("mkfifo").arg(&pipe).run().assert_code(0);
        let program = env!("CARGO_BIN_EXE_selvedge");
        let mut server = env
            .command("sh")
            .args(["-c", "exec \"$0\" mcp < ../pipe", program]);
        for (name, value) in variables {
            server = server.env(name, value);
        }
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

    /// Sends a request and returns its id.
    fn start_request(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.start_request(method, params);
        self.server.wait_for_stdout(&format!("\"id\":{id}"));
        let mut polling = Polling::new(selvedge_testkit::WAIT_TIMEOUT);
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
            assert!(polling.pause(), "no whole line: {output}");
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
    let expected = [
        "verify", "digest", "show", "explain", "run", "submit", "watch", "review", "restore",
    ];
    assert_eq!(names, expected);
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
        ("run", json!({})),
        ("review", json!({"run": "last", "decision": "accept"})),
    ] {
        let answer = session.call(tool, &arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    drop(session.input);
    session.server.wait().assert_code(0);
}

/// An environment whose settings name an agent with this script.
fn env_with_agent(body: &str) -> TestEnv {
    let env = env_with_repo();
    let program = agent(&env, body);
    env.write(
        "../config/selvedge/config.toml",
        format!("agent = \"mine\"\nverification.baseline = \"off\"\n[agents.mine]\nkind = \"command\"\nprogram = [\"{program}\"]\n"),
    );
    env
}

#[test]
fn mcp_run_reports_progress_and_can_be_reverted() {
    let env = env_with_agent("echo good > out");
    let mut session = Session::open(&env);
    let arguments = json!({"task": "do it", "checks": ["test -s out"]});
    let answer = session.request(
        "tools/call",
        &json!({"name": "run", "arguments": arguments, "_meta": {"progressToken": "p"}}),
    );
    let (text, is_error) = tool_text(&answer);
    assert!(!is_error && text.contains("verified"), "{text}");
    let output = session.server.stdout();
    let progress = output
        .lines()
        .find(|line| line.contains("notifications/progress"));
    assert!(progress.unwrap().contains("\"progressToken\":\"p\""));

    let answer = session.call("restore", &json!({"original": true}));
    assert!(tool_text(&answer).0.contains("undo:"), "{answer}");
    assert!(!env.work_dir().join("out").exists());

    let arguments = json!({"run": "last", "decision": "accept", "attempt": 1});
    let answer = session.call("review", &arguments);
    let (text, is_error) = tool_text(&answer);
    assert!(is_error && text.contains("not awaiting review"), "{text}");
    for (tool, arguments) in [
        ("run", json!({"task": "do it", "dir": "/"})),
        ("submit", json!({"task": "--help"})),
        ("watch", json!({})),
    ] {
        let answer = session.call(tool, &arguments);
        assert!(tool_text(&answer).1, "{answer}");
    }
    drop(session.input);
    session.server.wait().assert_code(0);
}

#[test]
fn mcp_cancelled_run_leaves_no_processes() {
    let env = env_with_agent("exec sleep 600");
    let mut session = Session::open(&env);
    let arguments = json!({"task": "do it", "checks": ["true"]});
    let id = session.start_request(
        "tools/call",
        &json!({"name": "run", "arguments": arguments}),
    );
    let is_running = || env.processes().iter().any(|it| it.command == "sleep 600");
    wait_until("the agent", is_running);
    let cancelled = json!({"requestId": id});
    session
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    wait_until("the end of the agent", || !is_running());
    let answer = session.call("show", &json!({}));
    assert!(!tool_text(&answer).1, "{answer}");
    wait_until("the interrupted attempt", || {
        last_attempt(&env)["closing"] == "interrupted"
    });
    drop(session.input);
    session.server.wait().assert_code(0);
}

fn last_attempt(env: &TestEnv) -> Value {
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    story["attempts"][0].clone()
}

#[test]
fn mcp_server_without_client_interrupts_its_run() {
    let env = env_with_agent("exec sleep 600");
    let mut session = Session::open(&env);
    let arguments = json!({"task": "do it", "checks": ["true"]});
    session.start_request(
        "tools/call",
        &json!({"name": "run", "arguments": arguments}),
    );
    let is_running = || env.processes().iter().any(|it| it.command == "sleep 600");
    wait_until("the agent", is_running);
    drop(session.input);
    session.server.wait().assert_code(0);
    assert!(!is_running());
    assert_eq!(last_attempt(&env)["closing"], "interrupted");
}

#[test]
fn mcp_restore_changes_no_other_directory() {
    let env = env_with_agent("echo good > out");
    env.write("../other/file", "");
    env.selvedge(["run", "x", "--dir", "../other", "--check", "true"])
        .run();
    let mut session = Session::open(&env);
    let answer = session.call("restore", &json!({"run": "last", "original": true}));
    let (text, is_error) = tool_text(&answer);
    assert!(is_error && text.contains("is outside of"), "{text}");
    drop(session.input);
    session.server.wait().assert_code(0);
}

/// The server of an agent that Selvedge runs has the variable that marks the agent's processes.
#[test]
fn mcp_review_is_refused_to_an_agent_of_selvedge() {
    let env = env_with_repo();
    let mut session = Session::open_with(&env, &[("SELVEDGE_SESSION", "a session")]);
    let arguments = json!({"run": "last", "decision": "accept", "attempt": 1});
    let answer = session.call("review", &arguments);
    let (text, is_error) = tool_text(&answer);
    assert!(is_error && text.contains("a person decides"), "{text}");
    drop(session.input);
    session.server.wait().assert_code(0);
}

#[test]
fn mcp_explain_and_resources_say_what_failed() {
    let env = env_with_agent("echo good > out");
    let mut session = Session::open(&env);
    let arguments = json!({
        "task": "do it",
        "checks": ["grep better out || { echo 'app.py:7: error: bad'; exit 1; }"],
        "retries": 0,
    });
    let answer = session.call("run", &arguments);
    let (text, is_error) = tool_text(&answer);
    assert!(!is_error && text.contains("(exit code 1)"), "{text}");

    let answer = session.call("explain", &json!({}));
    let (text, is_error) = tool_text(&answer);
    assert!(!is_error, "{text}");
    for part in ["max retries exhausted", "attempt 1:", "app.py:7"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }

    let templates = session.request("resources/templates/list", &json!({}));
    let templates = templates["result"]["resourceTemplates"].as_array().cloned();
    assert_eq!(templates.unwrap().len(), 2);
    let listed = session.request("resources/list", &json!({}));
    let listed = listed["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    let mut read = |uri: &Value| session.request("resources/read", &json!({"uri": uri}));
    let report = read(&listed[0]["uri"]);
    let report = report["result"]["contents"][0]["text"].as_str().unwrap();
    let report: Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["status"], "fail");
    let digest = read(&json!("selvedge://runs/last/digest/1"));
    let digest = digest["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(digest.contains("app.py:7"), "{digest}");
    for unknown in ["selvedge://runs/last/digest/9", "file:///etc/passwd"] {
        let answer = read(&json!(unknown));
        assert!(answer["error"].is_object(), "{answer}");
    }
    drop(session.input);
    session.server.wait().assert_code(0);
}

/// The rules of the registry's schema of 2025-12-11 and of its check of a package's owner.
#[test]
fn mcp_registry_entry_is_valid_and_names_this_package() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap();
    let entry: Value = serde_json::from_str(&read("packaging/server.json")).unwrap();
    let schema = json!({
        "type": "object",
        "required": ["$schema", "name", "title", "description", "version", "packages"],
        "additionalProperties": false,
        "properties": {
            "$schema": {"pattern": "/schemas/2025-12-11/server\\.schema\\.json$"},
            "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
            "title": {"minLength": 1, "maxLength": 100},
            "description": {"minLength": 1, "maxLength": 100},
            "version": {"const": env!("CARGO_PKG_VERSION")},
            "packages": {"minItems": 1, "maxItems": 1, "items": {
                "required": ["registryType", "identifier", "version", "transport"],
                "additionalProperties": false,
                "properties": {
                    "registryType": {"const": "cargo"},
                    "registryBaseUrl": {"const": "https://crates.io"},
                    "identifier": {"const": env!("CARGO_PKG_NAME")},
                    "version": {"const": env!("CARGO_PKG_VERSION")},
                    "transport": {"const": {"type": "stdio"}},
                    "packageArguments": {"const": [{"type": "positional", "value": "mcp"}]},
                },
            }},
        },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator
        .iter_errors(&entry)
        .map(|it| it.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    // The registry searches for it in the package's README, where it must not be a comment.
    let token = format!("`mcp-name: {}`\n", entry["name"].as_str().unwrap());
    assert!(read("README.md").contains(&token));
}
