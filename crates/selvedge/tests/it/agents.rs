//! Sessions with agents that need no installation: a model server with Ollama's API on loopback, and the
//! binary's own scripted agent, which prints Claude Code's records and misbehaves on demand. The end-to-end
//! suite tests the real Claude Code.

use std::path::PathBuf;

use selvedge_testkit::{CommandOutput, ModelServer, ScriptedTurn, TestEnv};
use serde_json::{Value, json};

use crate::corrected::{self, configure};
use crate::fixtures::env_with_repo;

/// Configures an agent that follows `script`, which is outside of the workspace, and logs every prompt.
fn scripted(env: &TestEnv, kind: &str, script: &Value) {
    let [script_file, log] = ["script.json", "log.jsonl"].map(|name| env.root().join(name));
    std::fs::write(&script_file, script.to_string()).unwrap();
    let program: Vec<PathBuf> = [
        env!("CARGO_BIN_EXE_selvedge").into(),
        "__agent".into(),
        "--script".into(),
        script_file,
        "--log".into(),
        log,
    ]
    .to_vec();
    let toml = format!(
        "[agents.scripted]\nkind = \"{kind}\"\nprogram = {}\n",
        json!(program)
    );
    configure(env, &toml);
}

/// Returns the prompts of the scripted agent, one per session.
fn prompts(env: &TestEnv) -> Vec<String> {
    let log = env.read("../log.jsonl");
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    log.lines()
        .map(|text| line(text)["prompt"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs a script that consists of one session.
fn run_once(kind: &str, steps: &Value, more: &[&str]) -> (TestEnv, CommandOutput) {
    let env = env_with_repo();
    scripted(&env, kind, &json!([steps]));
    let fixed = [
        "run",
        corrected::TASK,
        "--agent",
        "scripted",
        "--check",
        corrected::CHECK,
        "--format",
        "json",
    ];
    let out = env.selvedge(fixed.iter().chain(more)).run();
    (env, out)
}

fn writes(text: &str) -> Value {
    json!({"write": {"path": "answer", "text": text}})
}

fn costs(usd: f64, input: u32, output: u32) -> Value {
    let usage = json!({"input_tokens": input, "output_tokens": output});
    json!({"result": {"cost_usd": usd, "usage": usage}})
}

#[test]
fn agent_with_claude_records_is_corrected_and_costs_summed() {
    for kind in ["command", "claude"] {
        let env = env_with_repo();
        let script = json!([
            [writes("41\n"), {"say": "It is 41."}, costs(0.01, 900, 40)],
            [writes("42\n"), {"say": "It is 42."}, costs(0.02, 1_100, 60)],
        ]);
        scripted(&env, kind, &script);
        let corrected = corrected::run(&env, "scripted");
        let prompts = prompts(&env);
        corrected.assert_whole(&prompts);
        assert!(prompts[1].contains("It is 41."), "{}", prompts[1]);
        let result = &corrected.result;
        assert_eq!(result["estimated_cost_usd"], 0.03);
        assert_eq!(result["cost_source"], "reported");
        assert_eq!(
            (&result["tokens_in"], &result["tokens_out"]),
            (&2_000.into(), &100.into())
        );
        assert_eq!(result["output"], "It is 42.");
        assert_eq!(result["model_used"], "scripted");
    }
}

#[test]
fn ollama_agent_is_corrected_in_its_chat_at_no_cost() {
    let env = env_with_repo();
    let write = |text: &str| {
        let input = json!({"path": "answer", "content": text});
        ScriptedTurn::tool("write_file", input).usage(1_000, 50)
    };
    let server = ModelServer::start([
        write("41\n"),
        ScriptedTurn::text("It is 41.").usage(1_100, 10),
        write("42\n"),
        ScriptedTurn::text("It is 42.").usage(1_400, 10),
    ]);
    configure(
        &env,
        &format!(
            "[agents.local]\nkind = \"ollama\"\nmodel = \"qwen3:4b\"\nbase_url = \"{}\"\n",
            server.url()
        ),
    );
    let corrected = corrected::run(&env, "local");
    let requests = server.requests_of(1);
    // The first request of each session, as received by the model.
    let prompts = [0, 2].map(|index| requests[index].user_texts().join("\n"));
    corrected.assert_whole(&prompts);
    assert_eq!(requests.len(), 4);
    assert_eq!(server.turns_left(), 0);
    assert_eq!(requests[2].body["messages"][2]["content"], "It is 41.");
    let result = &corrected.result;
    assert_eq!(
        (&result["tokens_in"], &result["tokens_out"]),
        (&4_500.into(), &120.into())
    );
    assert_eq!(result["estimated_cost_usd"], 0.0);
    assert!(result["equivalent_claude_cost_usd"].as_f64().unwrap() > 0.0);
    assert_eq!(result["model_used"], "qwen3:4b");
}

#[test]
fn ollama_missing_model_is_3_with_a_pull_hint() {
    let env = env_with_repo();
    let script = selvedge_testkit::ModelScript::from([ScriptedTurn::text("?")]).models(["other"]);
    let server = ModelServer::start(script);
    configure(
        &env,
        &format!("[agents.ollama]\nbase_url = \"{}\"\n", server.url()),
    );
    let run = ["run", "x", "--agent", "ollama", "--check", "true"];
    let out = env.selvedge(run).run();
    out.assert_code(3);
    assert!(out.stderr.contains("ollama pull"), "{out}");
}

#[test]
fn turn_limit_is_5() {
    let ending = json!({"result": {"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (3)"]}});
    let (_env, out) = run_once("claude", &json!([writes("41"), ending]), &[]);
    out.assert_code(5);
    let result = out.json();
    assert_eq!(result["outcome"], "turn_limit");
    assert_eq!(result["verification_attempts"], 0);
    assert!(
        result["reason"]
            .as_str()
            .unwrap()
            .contains("maximum number of turns"),
        "{result}"
    );
}

#[test]
fn cost_cap_is_6_before_the_next_attempt() {
    let steps = json!([writes("41"), costs(0.02, 10, 1)]);
    let (env, out) = run_once("command", &steps, &["--max-cost", "0.03"]);
    out.assert_code(6);
    let result = out.json();
    assert_eq!(result["outcome"], "budget");
    assert_eq!(result["verification_status"], "partial_pass");
    assert_eq!(result["estimated_cost_usd"], 0.02);
    assert_eq!(prompts(&env).len(), 1);
}

#[test]
fn cost_cap_of_session_is_6_without_verification() {
    let ending = json!({"result": {"subtype": "error_max_budget_usd", "cost_usd": 0.023}});
    let more = ["--max-cost", "0.02"];
    let (_env, out) = run_once("claude", &json!([writes("42"), ending]), &more);
    out.assert_code(6);
    assert_eq!(out.json()["verification_status"], "execution_failed");
    assert_eq!(out.json()["verification_attempts"], 0);
}

#[test]
fn agent_error_is_3_despite_exit_code_0() {
    let ending = json!({"result": {"is_error": true, "result": "API Error: 400 no such model"}});
    for kind in ["claude", "command"] {
        let (_env, out) = run_once(kind, &json!([writes("42"), ending, {"exit": 0}]), &[]);
        out.assert_code(3);
        let reason = out.json()["reason"].to_string();
        assert!(reason.contains("no such model"), "{kind}: {reason}");
    }
}

#[test]
fn agent_that_dies_mid_record_is_3_and_keeps_its_output() {
    let steps = json!([writes("42"), {"invalid_utf8": true}, {"say": "Nearly there."}, {"die_mid_record": true}]);
    let (env, out) = run_once("claude", &steps, &[]);
    out.assert_code(3);
    assert_eq!(out.json()["output"], "Nearly there.");
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["attempts"][0]["session"]["unknown_records"], 1);
}

#[test]
fn agent_that_is_idle_is_4() {
    let env = env_with_repo();
    scripted(&env, "claude", &json!([[{"say": "Hm."}, {"hang": true}]]));
    let run = [
        "run", "x", "--agent", "scripted", "--check", "true", "--format", "json",
    ];
    let out = env
        .selvedge(run)
        .env("SELVEDGE_LIMITS_IDLE_TIMEOUT", "300ms")
        .run();
    out.assert_code(4);
    assert_eq!(out.json()["outcome"], "timeout");
    assert!(
        out.json()["reason"].as_str().unwrap().contains("no output"),
        "{out}"
    );
    assert_eq!(env.processes().len(), 0);
}

#[test]
fn agent_processes_are_ended_before_verification() {
    let daemon = |kind: &str| json!({"daemon": {"kind": kind, "write_to": format!("../{kind}"), "holds_stdout": true}});
    let steps = json!([
        daemon("background"),
        daemon("setsid"),
        daemon("double_fork"),
        writes("42")
    ]);
    let (env, out) = run_once("command", &steps, &[]);
    out.assert_code(0);
    assert!(env.processes().is_empty(), "{:?}", env.processes());
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let killed = &story["attempts"][0]["session"]["processes"]["ended"];
    assert!(killed.as_u64().unwrap() >= 3, "{killed}");
}

/// The task has the form of an older client; its description is never run.
#[test]
fn sidecar_task_is_run_by_the_shell() {
    let env = env_with_repo();
    let task = serde_json::json!({
        "description": "touch described", "command": "echo made > made",
        "routing_decision": {"target_type": "sidecar"},
        "verification_steps": [{"type": "command", "target": "test -s made"}],
    });
    let path = env.root().join("task.json");
    std::fs::write(&path, task.to_string()).unwrap();
    let file = path.to_str().unwrap();
    let out = env
        .selvedge(["run", "--file", file, "--format", "json"])
        .run();
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    assert!(!env.work_dir().join("described").exists());
    std::fs::write(&path, task.to_string().replace("echo made > made", "")).unwrap();
    let out = env.selvedge(["run", "--file", file]).run();
    out.assert_code(2);
    assert!(out.stderr.contains("no `command`"), "{}", out.stderr);
}
