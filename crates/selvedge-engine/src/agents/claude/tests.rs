//! Parsing of trimmed recordings of the real program, without starting a process.

use std::time::{Duration, Instant};

use selvedge_core::model::{
    Cost, CostSource, MicroUsd, SessionOutcome, SessionStatus, Timestamp, ToolCall, Usage,
};

use super::ClaudeEventParser;
use crate::activity::Activity;
use crate::agents::jsonl::{ParsedSession, SessionParser as _, tests as recorded};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/agents/recordings/claude/",
            $name,
            ".jsonl"
        ))
    };
}

type Session = ParsedSession<ClaudeEventParser>;

fn read(lines: impl AsRef<[u8]>) -> (Session, Vec<Activity>) {
    let mut session = Session::default();
    let mut activities = Vec::new();
    for line in lines.as_ref().split(|&byte| byte == b'\n') {
        session.parse_line(line, &mut |activity| activities.push(activity));
    }
    (session, activities)
}

fn exited(code: i32) -> SessionOutcome {
    match code {
        0 => SessionOutcome::new(SessionStatus::Success),
        code => SessionOutcome::failed(SessionStatus::Failed, format!("exited with code {code}")),
    }
}

fn stopped(status: SessionStatus) -> SessionOutcome {
    SessionOutcome::failed(status, "stopped")
}

fn outcome(lines: impl AsRef<[u8]>, by_exit: SessionOutcome) -> SessionOutcome {
    outcome_of_stopped(lines, by_exit, None)
}

fn outcome_of_stopped(
    lines: impl AsRef<[u8]>,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> SessionOutcome {
    let session = read(lines).0;
    session.outcome(&recorded::request(), by_exit, stopped_at)
}

/// A last record with these fields.
fn result(fields: &str) -> String {
    format!(r#"{{"type":"result",{fields}}}"#)
}

#[test]
fn parser_reads_successful_session() {
    let outcome = outcome(recording!("success"), exited(0));
    let expect = SessionOutcome {
        text: "Done.".into(),
        model: Some("claude-opus-4-8".into()),
        // By model, side calls included: one request more than the main loop's.
        usage: Usage {
            input: 4_000,
            output: 200,
            cache_read: 1_200,
            cache_write: 800,
        },
        cost: Cost::reported(MicroUsd(30_600)),
        session_id: Some("00000000-0000-4000-8000-000000000001".into()),
        turns: Some(3),
        tool_calls: 2,
        tool_errors: 1,
        calls: outcome.calls.clone(),
        ..SessionOutcome::new(SessionStatus::Success)
    };
    assert_eq!(outcome, expect);
    let summary = |call: &ToolCall| {
        (
            call.name.clone(),
            call.writes.is_some(),
            call.error.is_some(),
        )
    };
    let calls: Vec<_> = outcome.calls.iter().map(summary).collect();
    assert_eq!(
        calls,
        [("Write".into(), true, false), ("Bash".into(), false, true)]
    );
}

#[test]
fn claude_activities_keep_their_order() {
    let (_, activities) = read(recording!("success"));
    let text = |text: &str| Activity::Text(text.into());
    let started = |name: &str, subject: &str| Activity::ToolStarted {
        name: name.into(),
        subject: subject.into(),
    };
    let ended = |name: &str, ok| Activity::ToolEnded {
        name: name.into(),
        ok,
    };
    let estimated = |micro_usd| Activity::Cost(Cost::estimated(MicroUsd(micro_usd)));
    let expect = [
        estimated(6_425),
        text("I will write the file."),
        estimated(6_425),
        started("Write", "/workspace/hello.txt"),
        ended("Write", true),
        estimated(12_850),
        started("Bash", "cat hello.txt; exit 3"),
        ended("Bash", false),
        estimated(19_275),
        text("Done."),
        Activity::Cost(Cost::reported(MicroUsd(30_600))),
        Activity::Note("the agent's permission rules denied 1 tool call(s)".into()),
    ];
    assert_eq!(activities, expect);
}

#[test]
fn claude_last_record_decides_status() {
    use SessionStatus::{Budget, Failed, Success, TurnLimit};
    for (lines, code, status, error) in [
        (
            recording!("max_turns"),
            1,
            TurnLimit,
            "Reached maximum number of turns (2)",
        ),
        (
            recording!("budget"),
            1,
            Budget,
            "Reached maximum budget ($0.02)",
        ),
        (
            recording!("api_400"),
            1,
            Failed,
            "API Error: 400 scripted 400",
        ),
        (
            recording!("interrupted"),
            1,
            Failed,
            "[ede_diagnostic] result_type=user",
        ),
        (recording!("api_recovered"), 0, Success, ""),
        // A newer program may use another exit code.
        (recording!("api_recovered"), 1, Success, ""),
        (
            recording!("max_turns"),
            0,
            TurnLimit,
            "Reached maximum number of turns (2)",
        ),
        (
            recording!("api_400"),
            0,
            Failed,
            "API Error: 400 scripted 400",
        ),
    ] {
        let outcome = outcome(lines, exited(code));
        let message = outcome.error.unwrap_or_default();
        assert_eq!(outcome.status, status, "{message}");
        assert!(message.starts_with(error), "{message}");
    }
}

#[test]
fn claude_success_is_kept_after_late_stop() {
    use SessionStatus::{Cancelled, Infra, Success, Timeout};
    for (lines, stop, status) in [
        (recording!("success"), Timeout, Success),
        (recording!("success"), Cancelled, Success),
        (recording!("interrupted"), Cancelled, Cancelled),
        (recording!("interrupted"), Timeout, Timeout),
        (recording!("killed"), Timeout, Timeout),
        // One of its processes may still be alive: nothing may be verified now.
        (recording!("success"), Infra, Infra),
    ] {
        // Later than the last record.
        let late = Instant::now() + Duration::from_hours(1);
        let outcome = outcome_of_stopped(lines, stopped(stop), Some(late));
        assert_eq!(outcome.status, status, "{stop:?}");
    }
}

#[test]
fn claude_success_after_signal_does_not_count() {
    use SessionStatus::{Cancelled, Timeout};
    let signalled = Instant::now();
    for lines in [
        recording!("success"),
        recording!("max_turns"),
        recording!("killed"),
    ] {
        for stop in [Timeout, Cancelled] {
            let outcome = outcome_of_stopped(lines, stopped(stop), Some(signalled));
            assert_eq!(outcome.status, stop);
            assert_eq!(outcome.error.as_deref(), Some("stopped"));
        }
    }
    // Usage counts whatever the outcome is.
    let outcome = outcome_of_stopped(recording!("success"), stopped(Cancelled), Some(signalled));
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(30_600)));
}

#[test]
fn claude_success_needs_subtype_and_is_error() {
    use SessionStatus::{Failed, Success};
    for (fields, status) in [
        (r#""subtype":"success","is_error":false"#, Success),
        (r#""subtype":"success""#, Success),
        (r#""is_error":false"#, Success),
        (r#""subtype":"success","is_error":true"#, Failed),
        (
            r#""subtype":"error_during_execution","is_error":false"#,
            Failed,
        ),
        (
            r#""subtype":"error_of_a_later_release","is_error":null"#,
            Failed,
        ),
        (r#""num_turns":1"#, Failed),
    ] {
        assert_eq!(
            outcome(result(fields), exited(0)).status,
            status,
            "{fields}"
        );
    }
}

#[test]
fn claude_without_last_record_is_not_a_success() {
    let killed = outcome(recording!("killed"), exited(0));
    assert_eq!(killed.status, SessionStatus::Failed);
    assert_eq!(
        killed.error.as_deref(),
        Some("ended without a result record")
    );
    // Two records of one message: counted once.
    let usage = Usage {
        input: 1_000,
        output: 1,
        cache_read: 300,
        cache_write: 200,
    };
    assert_eq!(killed.usage, usage);
    assert_eq!(killed.cost, Cost::estimated(MicroUsd(6_425)));

    let nothing = outcome("", exited(1));
    assert_eq!(nothing.error.as_deref(), Some("exited with code 1"));
    assert_eq!(nothing.cost, Cost::UNKNOWN);
}

#[test]
fn claude_message_is_counted_once() {
    let record = |id: &str, output: u32| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"claude-opus-4-8",
            "usage":{{"input_tokens":100,"output_tokens":{output}}}}}}}"#
        )
        .replace('\n', "")
    };
    let lines = [
        record("a", 1),
        record("b", 1),
        record("a", 7),
        record("b", 2),
    ]
    .join("\n");
    let usage = outcome(lines, exited(1)).usage;
    assert_eq!((usage.input, usage.output), (200, 9));
}

#[test]
fn claude_unreadable_records_are_counted() {
    let mut lines = b"{\"type\":\"assis\n\xff\xfe\n[1]\n{\"type\":\"moon_phase\"}\n\n".to_vec();
    lines.extend_from_slice(b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff ok\"}]}}\n");
    lines.extend_from_slice(result(r#""subtype":"success","num_turns":"three""#).as_bytes());
    let outcome = outcome(lines, exited(0));
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "\u{fffd} ok");
    assert_eq!(outcome.unknown_records, 4);
    assert_eq!(outcome.turns, None);
}

#[test]
fn claude_field_of_other_type_is_ignored() {
    let lines = r#"{"type":"assistant","message":{"id":7,"model":["x"],"content":[{"type":"text","text":"hi"}],"usage":"much"},"session_id":{}}
{"type":"assistant","message":"gone"}
{"type":"result","subtype":"success","is_error":"no","result":["?"],"total_cost_usd":"1","errors":{},"modelUsage":{"claude-haiku-4-5":{"inputTokens":1000000,"costUSD":null}}}"#;
    let outcome = outcome(lines, exited(0));
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "hi");
    assert_eq!(outcome.cost, Cost::estimated(MicroUsd(1_000_000)));
    assert_eq!(outcome.unknown_records, 0);
}

#[test]
fn claude_retries_are_counted() {
    let recovered = recording!("api_recovered");
    assert_eq!(outcome(recovered, exited(0)).api_retries, 2);
    // These retries succeeded, so the count starts from zero.
    let overloaded = result(r#""is_error":true,"api_error_status":529"#);
    let (session, activities) = read(format!("{recovered}{overloaded}"));
    assert_eq!(session.transient_api_failures(), Some(0));
    let expect = Activity::ApiRetry {
        attempt: 1,
        max: 10,
        delay_ms: 608,
        reason: "529 overloaded".into(),
    };
    assert_eq!(activities[0], expect);
    let (session, _) = read(recording!("api_overloaded"));
    assert_eq!(session.transient_api_failures(), Some(2));
}

#[test]
fn claude_only_transient_errors_are_retried() {
    let trouble = |rest: &str| result(&format!(r#""subtype":"success","is_error":true,{rest}"#));
    for (lines, passes) in [
        (recording!("api_overloaded").to_owned(), true),
        (recording!("api_529_status").to_owned(), true),
        (trouble(r#""api_error_status":429"#), true),
        (
            trouble(r#""api_error_status":null,"result":"API Error: Connection error.""#),
            true,
        ),
        (
            trouble(r#""result":"API Error: fetch failed (ECONNREFUSED)""#),
            true,
        ),
        (
            trouble(r#""result":"Invalid API key · Fix external API key""#),
            false,
        ),
        (trouble(r#""api_error_status":401"#), false),
        (recording!("api_400").to_owned(), false),
        (recording!("max_turns").to_owned(), false),
        (recording!("interrupted").to_owned(), false),
        (recording!("killed").to_owned(), false),
        (recording!("success").to_owned(), false),
    ] {
        let in_vain = read(&lines).0.transient_api_failures();
        assert_eq!(in_vain.is_some(), passes, "{lines}");
    }
}

#[test]
fn claude_cost_has_weakest_source() {
    let source = |lines: &str| outcome(lines, exited(0)).cost.source;
    assert_eq!(source(recording!("success")), CostSource::Reported);
    let by_model = |cost: &str| {
        result(&format!(
            r#""modelUsage":{{"other":{{"inputTokens":5{cost}}}}}"#
        ))
    };
    assert_eq!(source(&by_model(r#","costUSD":0.1"#)), CostSource::Reported);
    assert_eq!(source(&by_model("")), CostSource::Unknown);
}

#[test]
fn claude_cost_of_several_models_is_unknown() {
    let message = |model: &str, parent: &str| {
        let usage = r#"{"input_tokens":1000,"output_tokens":10}"#;
        let message =
            format!(r#"{{"id":"{model}","model":"{model}","usage":{usage},"content":[]}}"#);
        format!(r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{message}}}"#)
    };
    let main = message("claude-sonnet-4-6", "null");
    assert_eq!(outcome(&main, exited(0)).cost.source, CostSource::Estimated);
    let both = format!("{main}\n{}", message("claude-haiku-4-5", "\"task\""));
    let interrupted = outcome(&both, exited(0));
    assert_eq!(interrupted.cost, Cost::UNKNOWN);
    assert_eq!(interrupted.usage.input, 2_000);
}

#[test]
fn claude_reports_usage_limit_of_failed_session_only() {
    let limited = |status: &str, is_error: bool| {
        let resets_at = (Timestamp::now() + Duration::from_hours(1)).as_second();
        let info = format!(r#"{{"status":"{status}","resetsAt":{resets_at}}}"#);
        let ending = result(&format!(r#""subtype":"success","is_error":{is_error}"#));
        let lines = format!(r#"{{"type":"rate_limit_event","rate_limit_info":{info}}}"#);
        outcome(format!("{lines}\n{ending}"), exited(0))
            .usage_limit
            .is_some()
    };
    assert!(limited("rejected", true));
    assert!(!limited("rejected", false));
    assert!(!limited("allowed_warning", true));
}

#[test]
fn claude_parser_accepts_any_bytes() {
    // A cheap replacement for the fuzz target: every prefix of every recording, cut at any
    // position.
    for lines in [
        recording!("success"),
        recording!("api_overloaded"),
        recording!("budget"),
    ] {
        for end in 0..lines.trim_end().len() {
            let outcome = outcome(&lines.as_bytes()[..end], exited(0));
            assert_ne!(outcome.status, SessionStatus::Success, "{end}");
        }
    }
}
