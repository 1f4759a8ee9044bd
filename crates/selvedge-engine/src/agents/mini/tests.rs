//! mini-SWE-agent's trajectory, as the real program writes it, and its configuration.

use selvedge_core::model::{MicroUsd, Prompt, SessionOutcome, SessionStatus, Usage};
use serde_json::{Value, json};

use super::trajectory::MiniSweSessionParser;
use super::{MiniSwe, to_yaml, trajectory_file};
use crate::agents::SessionRequest;
use crate::agents::jsonl::{AgentCli, SessionAllowance, SessionParser as _, tests as recorded};

fn message(text: &str, command: &str, id: &str) -> Value {
    json!({
        "role": "assistant",
        "content": text,
        "extra": {
            "actions": [{"command": command, "tool_call_id": id}],
            "response": {"model": "gpt-5", "usage": {
                "prompt_tokens": 1_000,
                "completion_tokens": 50,
                "prompt_tokens_details": {"audio_tokens": null, "cached_tokens": 400},
            }},
            "cost": 0.001,
        },
    })
}

fn outcome(exit_status: &str, request: SessionRequest) -> SessionOutcome {
    let folder = tempfile::tempdir().unwrap();
    let request = SessionRequest {
        run_dir: folder.path().to_owned(),
        ..request
    };
    let failed = json!({"returncode": 2, "raw_output": "no such file", "exception_info": ""});
    let messages = json!([
        {"role": "system", "content": "You are"},
        message("", "cat nothing", "1"),
        {"role": "tool", "content": "{}", "tool_call_id": "1", "extra": failed},
        message("It is 42.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "2"),
        {"role": "exit", "extra": {"exception_str": "scripted 401"}},
    ]);
    let stats = json!({"instance_cost": 0.002, "api_calls": 2});
    let info = json!({"exit_status": exit_status, "model_stats": stats});
    let trajectory = json!({"info": info, "messages": messages});
    std::fs::write(trajectory_file(&request), trajectory.to_string()).unwrap();
    let by_exit = SessionOutcome::new(SessionStatus::Success);
    MiniSweSessionParser::default().outcome(&request, by_exit, None)
}

#[test]
fn parser_reads_successful_session() {
    let outcome = outcome("Submitted", recorded::request());
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "It is 42.");
    let usage = Usage {
        input: 1_200,
        output: 100,
        cache_read: 800,
        cache_write: 0,
    };
    assert_eq!(outcome.usage, usage, "cached tokens are among the prompt's");
    assert_eq!(outcome.cost.at_least(), MicroUsd(2_000));
    assert_eq!((outcome.turns, outcome.tool_calls), (Some(2), 1));
    let error = outcome.calls[0].error.as_deref();
    assert_eq!(error, Some("exited with 2: no such file"));
}

#[test]
fn mini_limits_and_failures_differ() {
    let limited = |max_turns, cost_left| {
        let mut request = recorded::request();
        request.limits.max_turns = max_turns;
        request.cost_left = cost_left;
        outcome("LimitsExceeded", request).status
    };
    assert_eq!(limited(Some(2), None), SessionStatus::TurnLimit);
    let cap = Some(MicroUsd(1));
    assert_eq!(limited(Some(9), cap), SessionStatus::Budget);
    assert_eq!(limited(None, None), SessionStatus::Failed);
    let failed = outcome("AuthenticationError", recorded::request());
    let error = failed.error.as_deref();
    assert_eq!(error, Some("AuthenticationError: scripted 401"));
    let killed = outcome("", recorded::request());
    assert_eq!(killed.status, SessionStatus::Failed, "{killed:?}");
}

#[test]
fn mini_configuration_contains_limits_and_task() {
    let mut request = recorded::request();
    request.prompt = Prompt {
        task: "a\u{2028}b\u{7f} \u{1f600} {{x}}".to_owned(),
        correction: None,
    };
    let allowance = SessionAllowance {
        turns: Some(3),
        cost: Some(MicroUsd(20_000)),
        retries: 2,
    };
    let argv = MiniSwe.command_line(&request, allowance).join(" ");
    assert!(!argv.contains("{{x}}"), "{argv}");
    let (_, settings) = MiniSwe.files(&request, allowance).swap_remove(0);
    assert!(settings.contains("\"step_limit\":3") && settings.contains("\"cost_limit\":0.02"));
    let task = r#""a\u2028b\u007f 😀 {{x}}""#;
    assert_eq!(to_yaml(&json!(request.prompt.task)), task);
}
