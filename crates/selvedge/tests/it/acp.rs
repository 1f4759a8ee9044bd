//! Agents with the Agent Client Protocol, through the real binary: a scripted agent that also requests what it
//! must not get. The end-to-end suite tests real programs.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use selvedge_testkit::{CommandOutput, ScriptedAcpAgent, TestEnv};
use serde_json::{Value, json};

use crate::corrected::{self, CHECK, TASK, configure};
use crate::fixtures::{env_with_repo, wait_for};

/// Configures an agent `scripted` that follows these sessions.
fn scripted(env: &TestEnv, sessions: &Value, more: &str) -> ScriptedAcpAgent {
    let agent = ScriptedAcpAgent::write(env.root(), sessions);
    let program = json!(agent.command_line());
    let table = "[agents.scripted]\nkind = \"acp\"";
    configure(env, &format!("{table}\nprogram = {program}\n{more}"));
    agent
}

fn run(env: &TestEnv, more: &[&str]) -> CommandOutput {
    let fixed = ["run", TASK, "--agent", "scripted", "--check", CHECK];
    let format = ["--format", "json"];
    env.selvedge(fixed.iter().chain(&format).chain(more)).run()
}

fn session(env: &TestEnv) -> Value {
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    story["attempts"][0]["session"].clone()
}

fn writes(env: &TestEnv, text: &str) -> Value {
    json!({"write": {"path": env.work_dir().join("answer"), "content": text}})
}

fn ends(usage: &Value) -> Value {
    json!({"stop": {"stopReason": "end_turn", "usage": usage}})
}

fn tokens(input: u32, output: u32) -> Value {
    let total = input + output;
    json!({"inputTokens": input, "outputTokens": output, "totalTokens": total})
}

fn costs(usd: f64) -> Value {
    let cost = json!({"amount": usd, "currency": "USD"});
    json!({"update": {"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost}})
}

#[test]
fn acp_agent_is_corrected_and_its_usage_is_summed() {
    let env = env_with_repo();
    let tool =
        json!({"toolCallId": "1", "title": "Writing", "kind": "edit", "status": "completed"});
    let attempt = |text: &str, messages: [&str; 2], usd: f64, input| {
        json!([
            {"print": "Welcome!"},
            {"tool": tool},
            writes(&env, text),
            {"update": {"sessionUpdate": "brand_new", "what": 1}},
            {"say": messages[0]},
            {"say": messages[1]},
            costs(usd),
            ends(&tokens(input, 50)),
        ])
    };
    let sessions = json!([
        attempt("41\n", ["It is", " 41."], 0.01, 900),
        attempt("42\n", ["It is", " 42."], 0.02, 1_100),
    ]);
    let agent = scripted(&env, &sessions, "model = \"large\"\n");
    let corrected = corrected::run(&env, "scripted");
    let prompts = agent.received("prompt");
    let prompts: Vec<_> = prompts
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect();
    corrected.assert_whole(&prompts);
    assert!(prompts[1].contains("It is 41."), "{}", prompts[1]);
    let result = &corrected.result;
    assert_eq!(result["estimated_cost_usd"], 0.03);
    assert_eq!(
        (&result["tokens_in"], &result["tokens_out"]),
        (&2_000.into(), &100.into())
    );
    assert_eq!(result["output"], "It is 42.");
    assert_eq!(agent.received("set")[0]["value"], "large");
    let offered = &agent.received("initialize")[0]["clientCapabilities"];
    assert_eq!(offered["fs"]["writeTextFile"], true);
    assert_ne!(offered["terminal"], true);
    let session = session(&env);
    assert_eq!(
        (&session["tool_calls"], &session["session_id"]),
        (&1.into(), &"scripted".into())
    );
    assert_eq!(
        session["unknown_records"], 2,
        "a greeting, and an update of a later release"
    );
}

#[test]
fn acp_agent_can_access_workspace_files_only() {
    let env = env_with_repo();
    env.write("notes", "one\ntwo\nthree\n");
    env.commit("Notes");
    let outside = env.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    symlink(&outside, env.work_dir().join("link")).unwrap();
    let at = |path: &str| env.work_dir().join(path);
    let (secret, made) = (outside.join("secret"), outside.join("made"));
    let forbidden = [
        secret.clone(),
        at("../outside/secret"),
        at("link/secret"),
        PathBuf::from("/etc/hostname"),
    ];
    let mut steps: Vec<Value> = Vec::new();
    for path in &forbidden {
        steps.push(json!({"read": {"path": path}}));
    }
    for path in [
        &made,
        &at("link/made"),
        &at("../outside/made"),
        &at(".git/hooks/x"),
    ] {
        steps.push(json!({"write": {"path": path, "content": "x"}}));
    }
    let edit = |path: PathBuf| {
        let location = json!([{"path": path}]);
        json!({"permission": {"toolCallId": "1", "kind": "edit", "locations": location}})
    };
    for path in [
        secret.clone(),
        at("link/made"),
        at("../outside/made"),
        at(".git/config"),
    ] {
        steps.push(edit(path));
    }
    let permission = json!({"toolCallId": "2", "rawInput": {"file_path": secret}});
    steps.push(json!({"permission": permission}));
    let command = |input: Value, title: &str| {
        let call = json!({"toolCallId": "4", "kind": "execute", "rawInput": input, "title": title});
        json!({"permission": call})
    };
    let reads_secret = format!("cat '{}'", secret.display());
    for input in [
        json!({"command": reads_secret}),
        json!({"command": ["sh", "-c", reads_secret]}),
        json!({"command": "cat ../outside/secret"}),
        json!({"command": "cat link/secret"}),
        json!({"command": "ls ~/.ssh"}),
        json!({"command": "ls", "cwd": outside}),
    ] {
        steps.push(command(input, "Run"));
    }
    steps.push(command(Value::Null, &reads_secret));
    let refused = steps.len();
    steps.push(json!({"read": {"path": at("notes"), "line": 2, "limit": 1}}));
    steps.push(json!({"read": {"path": at("gone")}}));
    steps.push(edit(at("new/file")));
    let harmless = "cd src 2>/dev/null; /bin/cat ../notes | grep -c '/two/'";
    steps.push(command(json!({"command": harmless}), "Run"));
    steps.push(json!({"terminal": {"command": "id"}}));
    steps.extend([writes(&env, "42\n"), ends(&Value::Null)]);
    let agent = scripted(&env, &json!([steps]), "");
    run(&env, &[]).assert_code(0);

    let answers = agent.answers();
    for (step, answer) in steps.iter().zip(&answers[..refused]) {
        let is_refused = match &answer["outcome"] {
            Value::Null => answer["error"].is_object(),
            chosen => chosen["optionId"] == "id-reject_once",
        };
        assert!(is_refused, "{step} got {answer}");
    }
    assert_eq!(answers[refused]["content"], "two\n");
    assert_eq!(
        answers[refused + 1]["error"]["code"],
        -32002,
        "what is missing is told apart"
    );
    for answer in &answers[refused + 2..refused + 4] {
        assert_eq!(answer["outcome"]["optionId"], "id-allow_once", "{answer}");
    }
    assert_eq!(
        answers[refused + 4]["error"]["code"],
        -32601,
        "no terminals"
    );
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn acp_session_ends_map_to_outcomes() {
    let ending = |steps: Value| {
        let env = env_with_repo();
        scripted(&env, &json!([steps]), "");
        let out = run(&env, &["--max-cost", "0.05"]);
        assert!(env.processes().is_empty(), "{:?}", env.processes());
        let result = out.json();
        let reason = result["reason"].to_string();
        (
            out.code,
            result["outcome"].as_str().unwrap().to_owned(),
            reason,
        )
    };
    let stops = |reason: &str| json!([{"stop": {"stopReason": reason}}]);
    let (code, outcome, _) = ending(stops("max_turn_requests"));
    assert_eq!((code, outcome.as_str()), (5, "turn_limit"));
    for reason in ["refusal", "max_tokens", "made_up"] {
        let (code, outcome, why) = ending(stops(reason));
        assert_eq!((code, outcome.as_str()), (3, "failed"), "{reason}: {why}");
    }
    let error = json!({"code": -32603, "message": "Internal error", "data": {"details": "no key"}});
    let (code, _, why) = ending(json!([{"fail": error}]));
    assert!(code == 3 && why.contains("no key"), "{why}");
    let (code, _, why) = ending(json!([{"say": "I begin."}, {"exit": 7}]));
    assert!(code == 3 && why.contains("exited with code 7"), "{why}");
    let (code, _, why) = ending(json!([{"exit": 0}]));
    assert_eq!(code, 3, "an exit code of 0 is no success: {why}");
    // The cost cap is enforced during the session.
    let (code, outcome, _) =
        ending(json!([costs(0.01), costs(0.06), {"await_cancel": true}, {"hang": true}]));
    assert_eq!((code, outcome.as_str()), (6, "budget"));
}

#[test]
fn acp_agent_is_stopped_when_idle_and_notified_of_cancel() {
    let env = env_with_repo();
    scripted(&env, &json!([[{"say": "I begin."}, {"hang": true}]]), "");
    let command = ["run", TASK, "--agent", "scripted", "--check", CHECK];
    let out = env
        .selvedge(command)
        .env("SELVEDGE_LIMITS_IDLE_TIMEOUT", "500ms")
        .run();
    out.assert_code(4);
    assert!(env.processes().is_empty(), "{:?}", env.processes());

    let env = env_with_repo();
    let steps = json!([[writes(&env, "41\n"), {"await_cancel": true}, {"stop": {"stopReason": "cancelled"}}]]);
    let agent = scripted(&env, &steps, "");
    let child = env.selvedge(command).spawn();
    wait_for(&env.work_dir().join("answer"));
    child.interrupt();
    child.wait().assert_code(130);
    assert_eq!(agent.received("cancelled"), [true]);
}

#[test]
fn acp_unknown_model_is_rejected_with_known_models() {
    let env = env_with_repo();
    scripted(&env, &json!([[ends(&Value::Null)]]), "model = \"huge\"\n");
    let out = run(&env, &[]);
    out.assert_code(3);
    let reason = out.json()["reason"].to_string();
    assert!(
        reason.contains("`huge`") && reason.contains("small, large"),
        "{reason}"
    );
}

#[test]
fn acp_model_is_selected_from_a_list_of_models() {
    let env = env_with_repo();
    let sessions = json!([[writes(&env, "42\n"), ends(&Value::Null)]]);
    let settings = "model = \"large\"\nenv.ACP_OFFERS = \"models\"\n";
    let agent = scripted(&env, &sessions, settings);
    run(&env, &[]).assert_code(0);
    assert_eq!(agent.received("set_model")[0]["modelId"], "large");
    assert_eq!(agent.received("set_mode"), [Value::Null; 0]);
}

#[test]
fn acp_model_that_cannot_be_requested_is_rejected() {
    for (setting, option) in [("model", "model"), ("effort", "reasoning effort")] {
        let env = env_with_repo();
        let settings = format!("{setting} = \"large\"\nenv.ACP_OFFERS = \"nothing\"\n");
        let agent = scripted(&env, &json!([[ends(&Value::Null)]]), &settings);
        let out = run(&env, &[]);
        out.assert_code(3);
        let reason = out.json()["reason"].to_string();
        assert!(
            reason.contains(&format!("no choice of {option}")),
            "{reason}"
        );
        assert_eq!(
            agent.received("prompt"),
            [Value::Null; 0],
            "nothing is paid for"
        );
    }
}

#[test]
fn acp_known_program_gets_its_server_login_and_mode() {
    let env = env_with_repo();
    let sessions = json!([[writes(&env, "42\n"), ends(&tokens(10, 1))]]);
    let agent = ScriptedAcpAgent::write_as("codex-acp", env.root(), &sessions);
    let program = json!(agent.command_line());
    configure(
        &env,
        &format!(
            "[agents.scripted]\nkind = \"acp\"\nprogram = {program}\nmodel = \"small\"\n\
             base_url = \"http://127.0.0.1:9/v1\"\n\
             [agents.scripted.env]\nACP_OFFERS = \"models\"\nACP_LOGIN = \"api-key\"\n\
             OPENAI_API_KEY = \"dummy\"\nCODEX_CONFIG = '{{\"own\": 1}}'\n"
        ),
    );
    run(&env, &[]).assert_code(0);
    assert_eq!(agent.received("authenticate")[0]["methodId"], "api-key");
    assert_eq!(agent.received("set_mode")[0]["modeId"], "workspace-write");
    let environment = &agent.received("environment")[0];
    let settings = environment["CODEX_CONFIG"].as_str().unwrap();
    let settings: Value = serde_json::from_str(settings).unwrap();
    let provider = environment["MODEL_PROVIDER"].as_str().unwrap();
    assert_eq!(settings["own"], 1);
    assert_eq!(settings["model"], "small");
    let provider = &settings["model_providers"][provider];
    assert_eq!(provider["base_url"], "http://127.0.0.1:9/v1");
    assert_eq!(provider["env_key"], "OPENAI_API_KEY");
}

#[test]
fn acp_server_of_unknown_program_is_rejected() {
    let env = env_with_repo();
    let settings = "base_url = \"http://127.0.0.1:9\"\n";
    let agent = scripted(&env, &json!([[ends(&Value::Null)]]), settings);
    let out = run(&env, &[]);
    out.assert_code(3);
    let reason = out.json()["reason"].to_string();
    assert!(reason.contains("[agents.scripted.env]"), "{reason}");
    assert_eq!(agent.received("initialize"), [Value::Null; 0]);
}

#[test]
fn acp_session_is_repeated_after_api_failure() {
    let env = env_with_repo();
    let overloaded =
        json!({"code": -32603, "message": "Internal error", "data": {"details": "529 overloaded"}});
    let limited = json!({"code": 429, "message": "Rate limit exceeded"});
    let sessions = json!([
        [costs(0.01), {"fail": overloaded}],
        [costs(0.01), {"fail": limited}],
        [writes(&env, "42\n"), costs(0.02), ends(&tokens(10, 1))],
    ]);
    scripted(&env, &sessions, "");
    let out = run(&env, &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 1);
    assert_eq!(out.json()["estimated_cost_usd"], 0.04);
    assert_eq!(session(&env)["api_retries"], 2);

    // A failure that lasts is not repeated.
    let env = env_with_repo();
    let refused =
        json!({"code": -32603, "message": "Internal error", "data": {"details": "status 401"}});
    let agent = scripted(&env, &json!([[{"fail": refused}]]), "");
    run(&env, &[]).assert_code(3);
    assert_eq!(agent.received("prompt").len(), 1);
}

/// The adapter of Codex ends a turn regularly if the API fails, with the failure as text.
#[test]
fn acp_end_without_tokens_is_a_failure_of_codex() {
    let env = env_with_repo();
    let sessions = json!([[{"say": "unexpected status 400: scripted"}, ends(&Value::Null)]]);
    let agent = ScriptedAcpAgent::write_as("codex-acp", env.root(), &sessions);
    let program = json!(agent.command_line());
    configure(
        &env,
        &format!("[agents.scripted]\nkind = \"acp\"\nprogram = {program}\n"),
    );
    let out = run(&env, &[]);
    out.assert_code(3);
    let reason = out.json()["reason"].to_string();
    assert!(reason.contains("status 400"), "{reason}");
}
