//! The real Claude Code in `selvedge run`: behavior that the common scenarios do not cover.

use selvedge_testkit::{ModelScript, ModelServer, RecordedRequest, ReplySource, ScriptedTurn};
use serde_json::json;

use crate::fixtures::{connect, env_with_repo, run, writes};
use crate::slow::EndlessCommand;

#[test]
fn cost_cap_of_session_is_6() {
    let env = env_with_repo();
    let expensive = writes(&env, "42\n").usage(1_000_000, 1_000);
    let server = ModelServer::start([
        expensive,
        writes(&env, "42\n"),
        ScriptedTurn::text("It is 42."),
    ]);
    connect(&env, &server);
    let out = run(&env, &["--max-cost", "0.02", "--format", "json"]).run();
    out.assert_code(6);
    let result = out.json();
    assert_eq!(result["outcome"], "budget");
    assert_eq!(result["verification_status"], "execution_failed");
    let spent = result["estimated_cost_usd"].as_f64().unwrap();
    assert!(spent > 0.02, "the overshoot is counted: {spent}");
}

#[test]
fn timeout_in_tool_call_is_4_despite_claimed_success() {
    // A loaded machine may need longer until the agent runs the command.
    let timeouts = ["12s", "30s", "90s"];
    let begun = timeouts.into_iter().any(timeout_in_tool_call_is_4_within);
    assert!(begun, "the agent never ran the command");
}

/// `false` if the timeout came before the tool call.
fn timeout_in_tool_call_is_4_within(timeout: &str) -> bool {
    let slow = EndlessCommand::new();
    let env = &slow.env;
    // The check would pass, so a success that the agent claims after the timeout would be accepted.
    let turns = [
        writes(env, "42\n"),
        ScriptedTurn::tool("Bash", json!({"command": EndlessCommand::COMMAND})),
        ScriptedTurn::text("It is 42."),
        ScriptedTurn::text("It is 42."),
    ];
    let server = ModelServer::start(turns);
    connect(env, &server);
    let out = run(env, &["--timeout", timeout, "--format", "json"]).run();
    out.assert_code(4);
    slow.assert_nothing_left();
    let result = out.json();
    assert_eq!(result["outcome"], "timeout");
    assert_eq!(result["verification_attempts"], 0);
    let begun = slow.has_begun();
    if begun {
        assert_eq!(
            result["cost_source"], "reported",
            "it had the time to say what it cost: {out}"
        );
    }
    begun
}

#[test]
fn judge_is_another_model_without_tools() {
    let env = env_with_repo();
    let no = r#"{"passed": false, "issues": ["nobody can read it"], "confidence": 0.9, "suggestion": null}"#;
    let yes = r#"{"passed": true, "issues": [], "confidence": 0.9, "suggestion": null}"#;
    let answers = |json: &str| {
        let answer = serde_json::from_str(json).unwrap();
        ScriptedTurn::tool("StructuredOutput", answer).usage(2_000, 60)
    };
    let script = ModelScript::new()
        .session([writes(&env, "42\n"), ScriptedTurn::text("It is 42.")])
        .session([answers(no)])
        .session([
            writes(&env, "42\n\n"),
            ScriptedTurn::text("It is 42, with room."),
        ])
        .session([answers(yes)]);
    let server = ModelServer::start(script);
    connect(&env, &server);
    let out = run(&env, &["--tier", "2", "--format", "json"]).run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["verification_attempts"], 2);
    let prompts = server.prompts();
    assert!(prompts[2].contains("nobody can read it"), "{}", prompts[2]);
    assert!(prompts[3].contains("+42"), "{}", prompts[3]);
    assert!(
        prompts[3].contains("It is 42, with room."),
        "{}",
        prompts[3]
    );

    let judgement = &result["verification_report"]["gates"][0]["judgements"][0];
    assert!(
        judgement["model"].as_str().unwrap().contains("opus"),
        "{judgement}"
    );
    assert_eq!(judgement["cost"]["source"], "reported");
    assert!(judgement.get("same_model").is_none());
    let judged = |request: &&RecordedRequest| matches!(request.answer, ReplySource::Turn { session, .. } if session % 2 == 0);
    for request in server.requests().iter().filter(judged) {
        let tools = request.body["tools"].as_array();
        let names = tools.into_iter().flatten().map(|tool| &tool["name"]);
        // Newer versions reserve a name that no model may call.
        let names = names.filter(|name| **name != "DeferredToolPlaceholder");
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["StructuredOutput"],
            "it can but answer"
        );
    }
}
