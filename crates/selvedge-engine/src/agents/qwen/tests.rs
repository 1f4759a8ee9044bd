//! Qwen Code's records, against recordings of the real program, and its command line.

use selvedge_core::model::{Cost, SessionStatus, Usage};

use super::QwenCode;
use crate::agents::SessionRole;
use crate::agents::jsonl::{AgentCli, SessionAllowance, tests as recorded};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/agents/recordings/qwen/",
            $name,
            ".jsonl"
        ))
    };
}

type Session = recorded::RecordedSession<<QwenCode as AgentCli>::Parser>;

#[test]
fn parser_reads_successful_session() {
    let outcome = Session::read(recording!("success")).exited(0);
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "It is 42.");
    assert_eq!(outcome.model.as_deref(), Some("qwen3-coder"));
    assert_eq!(outcome.turns, Some(4));
    let usage = Usage {
        input: 2_800,
        output: 200,
        cache_read: 1_200,
        cache_write: 0,
    };
    assert_eq!(outcome.usage, usage, "cached tokens are among the input");
    assert_eq!(outcome.cost, Cost::UNKNOWN);
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (3, 2));
    assert_eq!(
        outcome.calls[0].writes.as_deref(),
        Some("/workspace/answer")
    );
    assert!(outcome.calls[2].is_unresolved_write());
    assert_eq!(outcome.unknown_records, 0);
}

#[test]
fn qwen_error_is_read_from_its_field() {
    let refused = Session::read(recording!("api_400"));
    let outcome = refused.exited(0);
    assert_eq!(outcome.status, SessionStatus::Failed);
    assert_eq!(
        outcome.error.as_deref(),
        Some("[API Error: 400 scripted 400]")
    );
    assert_eq!(refused.in_vain(), None);
}

#[test]
fn qwen_arguments_of_agent_and_judge() {
    let allowance = SessionAllowance {
        turns: Some(3),
        cost: None,
        retries: 2,
    };
    let mut request = recorded::request();
    let worker = QwenCode.command_line(&request, allowance);
    assert_eq!(
        worker[2..],
        ["--max-session-turns", "3", "--approval-mode=yolo"]
    );
    request.role = SessionRole::Judge;
    let judge = QwenCode.command_line(&request, allowance);
    assert!(judge.iter().any(|word| word == "--approval-mode=plan"));
    assert!(judge.iter().any(|word| word == "--json-schema"));
}
