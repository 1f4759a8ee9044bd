//! Gemini CLI's records, against recordings of the real program, and its command line and settings.

use selvedge_core::model::{Cost, MicroUsd, SessionStatus, Usage};

use super::record::GeminiEventParser;
use super::{GeminiCli, build_settings};
use crate::activity::Activity;
use crate::agents::SessionRole;
use crate::agents::jsonl::{AgentCli, ParsedSession, SessionAllowance, tests as recorded};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/agents/recordings/gemini/",
            $name,
            ".jsonl"
        ))
    };
}

type Session = recorded::RecordedSession<ParsedSession<GeminiEventParser>>;

#[test]
fn parser_reads_successful_session() {
    let session = Session::read(recording!("success"));
    let outcome = session.exited(0);
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "It is 42.");
    assert_eq!(outcome.model.as_deref(), Some("scripted"));
    let usage = Usage {
        input: 2_800,
        output: 200,
        cache_read: 1_200,
        cache_write: 0,
    };
    assert_eq!(outcome.usage, usage, "cached tokens are among the input");
    assert_eq!(outcome.cost, Cost::UNKNOWN);
    // A command that exited with 3 counts as a success in its records.
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (3, 1));
    assert_eq!(outcome.calls[0].writes.as_deref(), Some("answer"));
    assert!(
        outcome.calls[2].is_unresolved_write(),
        "{:?}",
        outcome.calls[2]
    );
    assert_eq!(outcome.unknown_records, 0);
}

#[test]
fn gemini_turn_limit_and_error_differ() {
    let limit = Session::read(recording!("turn_limit")).exited(53);
    assert_eq!(limit.status, SessionStatus::TurnLimit);
    let refused = Session::read(recording!("api_400"));
    assert_eq!(refused.exited(0).status, SessionStatus::Failed);
    assert!(refused.exited(0).error.unwrap().contains("scripted 400"));
    let busy = r#"{"type":"result","status":"error","error":{"message":"status 503"}}"#;
    assert_eq!(Session::read(busy).in_vain(), None, "it has tried itself");
}

#[test]
fn gemini_message_pieces_are_joined() {
    let piece = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\",\"delta\":true}}\n"
        )
    };
    let tool = "{\"type\":\"tool_use\",\"tool_id\":\"1\",\"tool_name\":\"x\"}\n";
    let lines = [
        piece("I"),
        piece(" look."),
        tool.into(),
        piece("It is"),
        piece(" 42."),
    ]
    .concat();
    let session = Session::read(&lines);
    assert_eq!(session.exited(1).text, "It is 42.");
    assert_eq!(
        session
            .activities
            .iter()
            .filter(|it| matches!(it, Activity::Text(_)))
            .count(),
        4
    );
}

#[test]
fn gemini_cost_of_several_models_is_unknown() {
    let result = |models: &str| {
        format!(
            "{{\"type\":\"result\",\"status\":\"success\",\"stats\":{{\"input_tokens\":1000,\
             \"models\":{{{models}}}}}}}"
        )
    };
    let pro = r#""gemini-2.5-pro":{"total_tokens":9}"#;
    let flash = r#""gemini-2.5-flash":{"total_tokens":9}"#;
    let idle = r#""gemini-2.0-flash":{"total_tokens":0}"#;
    let one = Session::read(&result(&[pro, idle].join(","))).exited(0);
    assert_eq!(one.cost, Cost::estimated(MicroUsd(1_250)));
    let two = Session::read(&result(&[pro, flash].join(","))).exited(0);
    assert_eq!(two.cost, Cost::UNKNOWN);
}

#[test]
fn gemini_limits_are_settings() {
    let allowance = SessionAllowance {
        turns: Some(7),
        cost: None,
        retries: 2,
    };
    let settings = build_settings(allowance, true);
    assert_eq!(settings["general"]["maxAttempts"], 3);
    assert_eq!(settings["model"]["maxSessionTurns"], 7);
    assert_eq!(
        settings["security"]["auth"]["selectedType"],
        "gemini-api-key"
    );

    let mut request = recorded::request();
    let has = |argv: &[String], word: &str| argv.iter().any(|it| it == word);
    assert!(has(
        &GeminiCli.command_line(&request, allowance),
        "--approval-mode=yolo"
    ));
    request.agent.program = ["gemini", "--approval-mode=auto_edit"]
        .map(str::to_owned)
        .into();
    assert!(!has(
        &GeminiCli.command_line(&request, allowance),
        "--approval-mode=yolo"
    ));
    request.agent.program.clear();
    request.role = SessionRole::Judge;
    assert!(has(
        &GeminiCli.command_line(&request, allowance),
        "--approval-mode=plan"
    ));
}
