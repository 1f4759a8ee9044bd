//! Models of provider APIs, through the real binary: work, limits and judging.

use selvedge_testkit::{Invocation, ModelScript, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use crate::corrected::{self, CHECK, TASK, configure};
use crate::fixtures::env_with_repo;

/// The model, the path of the API, and the variable with its key.
const APIS: [(&str, &str, &str); 3] = [
    ("anthropic/claude-sonnet-4-6", "/v1", "ANTHROPIC_API_KEY"),
    ("openai/gpt-5", "/v1", "OPENAI_API_KEY"),
    ("gemini/gemini-2.5-flash", "/v1beta", "GEMINI_API_KEY"),
];

fn connect(env: &TestEnv, (model, path, key): (&str, &str, &str), server: &ModelServer) {
    let url = server.url();
    let agent = format!("[agents.model]\nkind = \"api\"\nmodel = \"{model}\"");
    configure(
        env,
        &format!("{agent}\nbase_url = \"{url}{path}\"\nenv.{key} = \"dummy\"\n"),
    );
}

fn write(text: &str) -> ScriptedTurn {
    ScriptedTurn::tool("write_file", json!({"path": "answer", "content": text})).usage(1_000, 50)
}

fn run(env: &TestEnv, more: &[&str]) -> Invocation {
    let fixed = [
        "run", TASK, "--agent", "model", "--check", CHECK, "--format", "json",
    ];
    env.selvedge(fixed.iter().chain(more))
}

#[test]
fn api_agent_is_corrected_and_its_cost_is_estimated() {
    for api in APIS {
        let env = env_with_repo();
        let session = |number: &str| {
            let message = format!("It is {number}.");
            [
                write(&format!("{number}\n")),
                ScriptedTurn::text(message).usage(1_100, 10),
            ]
        };
        // A retry continues the chat of the previous attempt.
        let turns = [session("41"), session("42")].concat();
        let server = ModelServer::start(ModelScript::new().session(turns));
        connect(&env, api, &server);
        let corrected = corrected::run(&env, "model");
        let result = &corrected.result;
        assert_eq!(result["outcome"], "verified", "{api:?}");
        assert_eq!(result["verification_attempts"], 2);
        assert_eq!(
            (&result["tokens_in"], &result["tokens_out"]),
            (&4_200.into(), &120.into())
        );
        assert_eq!(result["cost_source"], "estimated");
        assert!(result["estimated_cost_usd"].as_f64().unwrap() > 0.0);
        assert_eq!(result["model_used"], api.0);
        assert_eq!(server.turns_left(), 0);
    }
}

/// The author of a repository cannot get the user's key by naming a server.
#[test]
fn api_key_is_not_sent_to_server_named_by_repository() {
    let env = env_with_repo();
    let server =
        ModelServer::start(ModelScript::new().session([write("42\n"), ScriptedTurn::text("done")]));
    let settings = format!(
        "[agents.model]\nkind = \"api\"\nmodel = \"openai/gpt-5\"\nbase_url = \"{}/v1\"\n",
        server.url()
    );
    env.write("selvedge.toml", settings);
    let run = run(&env, &["--retries", "0"]).env("OPENAI_API_KEY", "sk-of-the-person");
    run.run().assert_code(0);
    let requests = server.requests();
    assert!(!requests.is_empty());
    for request in requests {
        let text = format!("{request:?}");
        assert!(!text.contains("sk-of-the-person"), "{text}");
    }
}

#[test]
fn api_turn_and_time_limits_have_their_own_outcomes() {
    for api in APIS {
        let env = env_with_repo();
        let server = ModelServer::start([write("40\n"), write("41\n"), write("42\n")]);
        connect(&env, api, &server);
        let out = run(&env, &["--max-turns", "2"]).run();
        out.assert_code(5);
        assert_eq!(out.json()["outcome"], "turn_limit", "{api:?}");
        assert_eq!(server.turns_left(), 1);
        assert_eq!(out.json()["verification_attempts"], 0);

        let env = env_with_repo();
        let server = ModelServer::start([ScriptedTurn::hang()]);
        connect(&env, api, &server);
        let out = run(&env, &["--timeout", "500ms"]).run();
        out.assert_code(4);
        assert_eq!(out.json()["outcome"], "timeout", "{api:?}");
        let reason = out.json()["reason"].to_string();
        assert!(reason.contains("0.5 s"), "{reason}");
    }
}

#[test]
fn api_turn_limit_defaults_to_ten() {
    let env = env_with_repo();
    let turns: Vec<_> = (0..11).map(|turn| write(&format!("{turn}\n"))).collect();
    let server = ModelServer::start(ModelScript::new().session(turns));
    connect(&env, APIS[0], &server);
    let out = run(&env, &[]).run();
    out.assert_code(5);
    assert_eq!(server.turns_left(), 1);
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let limits = story["spec"]["limits"]["wall_ms"].as_u64();
    assert_eq!(limits.unwrap_or(300_000), 300_000, "five minutes");
}

#[test]
fn api_model_judges_work_of_another_agent() {
    let answer = r#"{"passed": true, "issues": [], "confidence": 0.9, "suggestion": null}"#;
    for api in APIS {
        let env = env_with_repo();
        let server = ModelServer::start([ScriptedTurn::text(answer).usage(2_000, 60)]);
        connect(&env, api, &server);
        let judged = ["--tier", "2", "--judge", "model", "--format", "json"];
        let worker = [
            "run",
            TASK,
            "--agent-cmd",
            "sh -c 'cat > /dev/null; echo 42 > answer'",
        ];
        let out = env
            .selvedge(worker.iter().chain(&["--check", CHECK]).chain(&judged))
            .run();
        out.assert_code(0);
        let gate = &out.json()["verification_report"]["gates"][0];
        assert_eq!(gate["passed"], true, "{api:?}: {gate}");
        let judgement = &gate["judgements"][0];
        assert_eq!(judgement["usage"]["input"], 2_000, "{judgement}");
        assert!(
            judgement["cost"]["micro_usd"].as_u64().unwrap() > 0,
            "{judgement}"
        );
        assert!(
            server.prompts()[0].contains("+42"),
            "{}",
            server.prompts()[0]
        );
    }
}
