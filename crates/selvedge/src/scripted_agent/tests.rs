//! Tests of the scripted agent without the surrounding program.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::ScriptedAgentError;
use super::claude::ClaudeSessionWriter;
use super::plain::PlainSessionWriter;
use super::script::AgentScript;
use super::session_writer::SessionWriter;
use super::step_runner::StepRunner;

/// The results of an attempt: exit code, output and workspace.
struct StepResult {
    code: u8,
    printed: Vec<u8>,
    workspace: TempDir,
}

impl StepResult {
    fn records(&self) -> Vec<Value> {
        let text = str::from_utf8(&self.printed).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.path().join(path)).unwrap()
    }
}

fn perform(
    steps: &Value,
    writer: &mut dyn SessionWriter,
) -> (Result<u8, ScriptedAgentError>, TempDir) {
    let script: AgentScript = serde_json::from_value(json!([steps])).unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let mut runner = StepRunner {
        workspace: workspace.path(),
        writer,
    };
    (runner.run_steps(script.attempt_steps(1)), workspace)
}

fn claude(steps: &Value) -> StepResult {
    let mut printed = Vec::new();
    let (code, workspace) = perform(steps, &mut ClaudeSessionWriter::new(&mut printed));
    StepResult {
        code: code.unwrap(),
        printed,
        workspace,
    }
}

fn plain(steps: &Value) -> StepResult {
    let mut printed = Vec::new();
    let (code, workspace) = perform(steps, &mut PlainSessionWriter::new(&mut printed));
    StepResult {
        code: code.unwrap(),
        printed,
        workspace,
    }
}

#[test]
fn scripted_agent_prints_records_of_claude_code() {
    let performed = claude(&json!([
        {"say": "I will write it."},
        {"write": {"path": "a/b.txt", "text": "one\n"}},
        {"append": {"path": "a/b.txt", "text": "two\n"}},
        {"replace": {"path": "a/b.txt", "from": "one", "to": "1"}},
        {"run": ["sh", "-c", "cat a/b.txt; exit 3"]},
        {"say": "Done."},
    ]));
    assert_eq!(performed.code, 0);
    assert_eq!(performed.read("a/b.txt"), "1\ntwo\n");

    let records = performed.records();
    let kinds: Vec<_> = records
        .iter()
        .map(|record| record["type"].as_str().unwrap())
        .collect();
    let tool = ["assistant", "user"];
    let expected = [
        &["system", "assistant"][..],
        &tool,
        &tool,
        &tool,
        &tool,
        &["assistant", "result"],
    ];
    assert_eq!(kinds, expected.concat());

    let (used, answered) = (&records[8], &records[9]);
    let used = &used["message"]["content"][0];
    let answered = &answered["message"]["content"][0];
    assert_eq!(used["name"], "Bash");
    assert_eq!(answered["tool_use_id"], used["id"]);
    assert_eq!(answered["content"], "1\ntwo\n");
    assert_eq!(answered["is_error"], true);

    let last = &records[11];
    assert_eq!(last["subtype"], "success");
    assert_eq!(last["is_error"], false);
    assert_eq!(last["result"], "Done.");
    assert_eq!(last["num_turns"], 6);
    assert_eq!(last["total_cost_usd"], 0.0);
    assert_eq!(last["usage"]["input_tokens"], 0);
    let ids: Vec<_> = records.iter().map(|record| &record["session_id"]).collect();
    assert!(ids.iter().all(|id| id.is_string() && *id == ids[0]));
}

#[test]
fn scripted_agent_final_record_follows_script() {
    let performed = claude(&json!([
        {"say": "Too much."},
        {"result": {
            "subtype": "error_max_turns", "cost_usd": 0.02, "num_turns": 3,
            "usage": {"input_tokens": 900, "output_tokens": 40}, "errors": ["enough"],
        }},
    ]));
    assert_eq!(performed.code, 1);
    let last = performed.records().pop().unwrap();
    assert_eq!(last["is_error"], true);
    assert_eq!(last["errors"], json!(["enough"]));
    assert_eq!(last["result"], Value::Null);
    assert_eq!(last["usage"]["output_tokens"], 40);
    assert_eq!(last["modelUsage"]["scripted"]["inputTokens"], 900);
    assert_eq!(last["modelUsage"]["scripted"]["costUSD"], 0.02);

    // The real program reports `success` with `is_error` if the API fails, and does not exit with 0 then.
    let refused = claude(&json!([
        {"result": {"is_error": true, "api_error_status": 529}}, {"exit": 0},
    ]));
    assert_eq!(refused.code, 0);
    let last = refused.records().pop().unwrap();
    assert_eq!(
        (&last["subtype"], &last["is_error"]),
        (&json!("success"), &json!(true))
    );
    assert_eq!(last["api_error_status"], 529);
}

#[test]
fn scripted_agent_plain_output_is_text() {
    let performed = plain(&json!([
        {"say": "Hello."}, {"write": {"path": "x", "text": ""}}, {"delete": "x"}, {"touch": "y"},
    ]));
    let text = str::from_utf8(&performed.printed).unwrap();
    assert_eq!(
        text,
        "Hello.\n> Write x\nx changed\n> Bash rm -r x\nx changed\n"
    );
    assert!(!performed.workspace.path().join("x").exists());
    assert_eq!(performed.read("y"), "");
}

#[test]
fn scripted_agent_floods_with_given_bytes() {
    let flood = |kind| {
        let steps = json!([{"flood": {"bytes": 200_000, "kind": kind}}, {"exit": 0}]);
        plain(&steps).printed
    };
    for kind in ["lines", "one_line", "binary"] {
        assert_eq!(flood(kind).len(), 200_001, "{kind}");
    }
    assert_eq!(flood("one_line").split(|byte| *byte == b'\n').count(), 2);
    assert!(
        str::from_utf8(&flood("lines"))
            .unwrap()
            .lines()
            .all(|line| line.len() <= 81)
    );
    assert!(str::from_utf8(&flood("binary")).is_err());
}

#[test]
fn scripted_agent_can_crash_and_print_garbage() {
    let broken = claude(&json!([{"die_mid_record": true}, {"say": "never"}]));
    assert_eq!(broken.code, 1);
    let last = broken.printed.rsplit(|byte| *byte == b'\n').next().unwrap();
    assert!(last.starts_with(b"{"));
    serde_json::from_slice::<Value>(last).unwrap_err();

    for mumbled in [
        claude(&json!([{"invalid_utf8": true}])),
        plain(&json!([{"invalid_utf8": true}])),
    ] {
        str::from_utf8(&mumbled.printed).unwrap_err();
        assert_eq!(mumbled.printed.last(), Some(&b'\n'));
    }
    assert_eq!(claude(&json!([{"exit": 9}])).records().len(), 1);
}

#[test]
fn scripted_agent_daemons_survive() {
    for kind in ["background", "setsid", "double_fork"] {
        let performed =
            plain(&json!([{"daemon": {"kind": kind, "write_to": "ticks", "every_ms": 1}}]));
        assert_eq!(performed.code, 0);
        let ticks = || performed.read("ticks").lines().count();
        let before = ticks();
        while ticks() <= before {
            std::thread::yield_now();
        }
        let ticks = performed.read("ticks");
        let pid = ticks.lines().next().unwrap();
        let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        assert!(
            Command::new("kill")
                .args(["-9", pid])
                .status()
                .unwrap()
                .success()
        );
        // The fields after the name in parentheses: state, parent, group, session.
        let Ok(stat) = stat else { continue };
        let fields: Vec<_> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        assert_eq!(
            fields[3] == pid,
            kind != "background",
            "leads a session: {kind}"
        );
        let ours = std::process::id().to_string();
        assert_eq!(
            fields[1] == ours,
            kind != "double_fork",
            "is a child: {kind}"
        );
    }
}

#[test]
fn scripted_agent_invalid_script_names_line() {
    let steps = json!([
        {"write": {"path": "x", "text": "aa"}}, {"replace": {"path": "x", "from": "b", "to": "c"}},
    ]);
    let (lost, _) = perform(&steps, &mut PlainSessionWriter::new(io::sink()));
    assert_eq!(lost.unwrap_err().to_string(), "step 2: x: `b` not found");
    let unknown = serde_json::from_value::<AgentScript>(json!([[{"dance": true}]])).unwrap_err();
    assert!(
        unknown.to_string().contains("unknown variant `dance`"),
        "{unknown}"
    );
}

#[test]
fn scripted_agent_repeats_last_attempt() {
    let script: AgentScript =
        serde_json::from_value(json!([[{"say": "1"}], [{"say": "2"}]])).unwrap();
    assert_ne!(script.attempt_steps(1), script.attempt_steps(2));
    assert_eq!(script.attempt_steps(2), script.attempt_steps(3));
    assert!(AgentScript::new([]).attempt_steps(1).is_empty());
}
