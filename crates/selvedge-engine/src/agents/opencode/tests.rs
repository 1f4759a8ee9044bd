//! OpenCode's records, against recordings of the real program, and its command line.

use selvedge_core::model::{Cost, MicroUsd, SessionStatus, Usage};

use super::OpenCodeRun;
use super::record::OpenCodeEventParser;
use crate::agents::SessionRole;
use crate::agents::jsonl::{AgentCli, ParsedSession, SessionAllowance, tests as recorded};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/agents/recordings/opencode/",
            $name,
            ".jsonl"
        ))
    };
}

type Session = recorded::RecordedSession<ParsedSession<OpenCodeEventParser>>;

#[test]
fn parser_reads_successful_session() {
    let outcome = Session::read(recording!("success")).exited(0);
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "It is 42.");
    assert_eq!(outcome.session_id.as_deref(), Some("ses_1"));
    let usage = Usage {
        input: 2_800,
        output: 200,
        cache_read: 1_200,
        cache_write: 0,
    };
    assert_eq!(outcome.usage, usage);
    assert_eq!(outcome.turns, Some(4));
    // It reports this cost for a model without a price.
    assert_eq!(
        outcome.cost,
        Cost::UNKNOWN,
        "what costs nothing is not known"
    );
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (3, 2));
    assert_eq!(
        outcome.calls[0].writes.as_deref(),
        Some("/workspace/answer")
    );
    assert_eq!(outcome.calls[1].error.as_deref(), Some("exited with 3: 42"));
    assert!(outcome.calls[2].is_unresolved_write());
    assert_eq!(outcome.unknown_records, 0);
}

#[test]
fn opencode_cost_is_summed() {
    let step = |cost: &str, reason: &str| {
        format!(
            "{{\"type\":\"step_finish\",\"part\":{{\"reason\":\"{reason}\",\"cost\":{cost},\
             \"tokens\":{{\"input\":10,\"output\":2,\"reasoning\":3}}}}}}\n"
        )
    };
    let lines = [step("0.01", "tool-calls"), step("0.02", "stop")].concat();
    let outcome = Session::read(&lines).exited(0);
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(30_000)));
    assert_eq!(outcome.usage.output, 10);
}

#[test]
fn opencode_success_needs_regular_stop() {
    use SessionStatus::{Failed, Success};
    let step = |reason: &str| {
        format!("{{\"type\":\"step_finish\",\"part\":{{\"reason\":\"{reason}\"}}}}\n")
    };
    let status = |lines: &[String]| Session::read(&lines.concat()).exited(0).status;
    assert_eq!(status(&[step("tool-calls"), step("stop")]), Success);
    assert_eq!(
        status(&[step("tool-calls")]),
        Failed,
        "cut off between two steps"
    );
    assert_eq!(status(&[step("length")]), Failed);
    let begins = "{\"type\":\"step_start\"}\n".to_owned();
    assert_eq!(
        status(&[step("stop"), begins]),
        Failed,
        "it went on and said no end"
    );
    let refused = Session::read(recording!("api_400")).exited(0);
    assert_eq!(refused.error.as_deref(), Some("scripted 400"));
}

#[test]
fn opencode_judge_uses_planner() {
    let allowance = SessionAllowance {
        turns: None,
        cost: None,
        retries: 2,
    };
    let mut request = recorded::request();
    let worker = OpenCodeRun.command_line(&request, allowance);
    assert_eq!(worker.last().unwrap(), "--auto");
    request.role = SessionRole::Judge;
    let judge = OpenCodeRun.command_line(&request, allowance);
    assert_eq!(judge.last().unwrap(), "--agent=plan");
}
