//! Codex's records, against recordings of the real program, and its command line.

use selvedge_core::model::{Cost, MicroUsd, SessionStatus, Usage};

use super::record::CodexEventParser;
use super::{CodexExec, provider_flags};
use crate::activity::Activity;
use crate::agents::jsonl::{AgentCli, SessionAllowance, tests as recorded};
use crate::agents::{SessionRole, jsonl::ParsedSession};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/agents/recordings/codex/",
            $name,
            ".jsonl"
        ))
    };
}

type Session = recorded::RecordedSession<ParsedSession<CodexEventParser>>;

#[test]
fn parser_reads_successful_session() {
    let session = Session::read(recording!("success"));
    let outcome = session.exited(0);
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "Done.");
    let id = "00000000-0000-4000-8000-000000000001";
    assert_eq!(outcome.session_id.as_deref(), Some(id));
    // The reported input includes cached tokens.
    let usage = Usage {
        input: 1_400,
        output: 100,
        cache_read: 600,
        cache_write: 0,
    };
    assert_eq!(outcome.usage, usage);
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (1, 1));
    assert_eq!(outcome.calls[0].error.as_deref(), Some("exited with 3: hi"));
    assert_eq!(outcome.unknown_records, 0);
    assert_eq!(outcome.turns, None, "it tells none");
    assert_eq!(outcome.cost, Cost::UNKNOWN, "nor with which model it works");

    let priced = session.of_model("gpt-5").exited(0);
    // 1.25 dollars for input, a tenth of it for cached input, and 10 for output.
    assert_eq!(priced.cost, Cost::estimated(MicroUsd(2_825)));
}

#[test]
fn codex_activities_are_reported() {
    let started = |name: &str, subject: &str| Activity::ToolStarted {
        name: name.into(),
        subject: subject.into(),
    };
    let ended = |name: &str, ok| Activity::ToolEnded {
        name: name.into(),
        ok,
    };
    let activities = Session::read(recording!("file_change")).activities;
    let expect = [
        started("file_change", "/workspace/a.txt"),
        ended("file_change", true),
        Activity::Text("Done patching.".into()),
    ];
    assert_eq!(activities[1..], expect);
    let calls = Session::read(recording!("file_change")).exited(0).calls;
    assert_eq!(calls[0].writes.as_deref(), Some("/workspace/a.txt"));
    assert!(matches!(&activities[0], Activity::Note(text) if text.contains("Model metadata")));

    let activities = Session::read(recording!("success")).activities;
    let command = "/bin/bash -lc 'printf hi > hello.txt; cat hello.txt; exit 3'";
    assert_eq!(
        activities[2..4],
        [started("command", command), ended("command", false)]
    );
}

#[test]
fn codex_last_record_decides_status() {
    use SessionStatus::{Failed, Success};
    let session = Session::read(recording!("api_400"));
    assert_eq!(session.exited(0).status, Failed);
    assert_eq!(session.exited(1).error.as_deref(), Some("scripted 400"));
    assert_eq!(
        Session::read(recording!("success")).exited(1).status,
        Success
    );

    let broken_off = Session::read(recording!("terminated"));
    assert_eq!(broken_off.exited(0).status, Failed, "it said no end");
    assert_eq!(broken_off.stopped().status, SessionStatus::Timeout);
    let again = [recording!("api_400"), r#"{"type":"turn.started"}"#].concat();
    assert_eq!(
        Session::read(&again).exited(0).status,
        Failed,
        "the next turn has no end"
    );
}

#[test]
fn codex_transient_api_errors_are_recognised() {
    let busy = Session::read(recording!("api_503"));
    assert_eq!(busy.in_vain(), Some(5), "what it asked in vain is used up");
    assert_eq!(busy.exited(1).api_retries, 5);
    assert_eq!(Session::read(recording!("api_429")).in_vain(), Some(0));
    assert_eq!(Session::read(recording!("api_400")).in_vain(), None);
    assert_eq!(Session::read(recording!("success")).in_vain(), None);
}

#[test]
fn codex_unknown_records_are_counted() {
    let hostile = r#"[]
{"type":"item.completed","item":7}
{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":9,"output_tokens":"many"}}
{"type":"novelty"}
{"type":"item.completed","item":{"type":"agent_message","text":["no"]}}
no json
"#;
    let outcome = Session::read(hostile).exited(0);
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.unknown_records, 3);
    assert_eq!((outcome.usage.input, outcome.usage.cache_read), (0, 9));
}

#[test]
fn codex_arguments_restrict_writing() {
    let allowance = SessionAllowance {
        turns: None,
        cost: None,
        retries: 2,
    };
    let mut request = recorded::request();
    let has = |argv: &[String], word: &str| argv.iter().any(|it| it == word);
    let worker = CodexExec.command_line(&request, allowance);
    assert_eq!(worker[..3], ["codex", "exec", "--json"]);
    assert!(has(&worker, "--sandbox=workspace-write") && !has(&worker, "--output-schema"));
    assert_eq!(
        worker.last().unwrap(),
        "-",
        "the prompt is on standard input"
    );

    request.agent.program = ["codex", "--sandbox=danger-full-access"]
        .map(str::to_owned)
        .into();
    let takes_over = CodexExec.command_line(&request, allowance);
    assert!(!has(&takes_over, "--sandbox=workspace-write"));

    request.agent.program.clear();
    request.role = SessionRole::Judge;
    let judge = CodexExec.command_line(&request, allowance);
    assert!(has(&judge, "--sandbox=read-only") && has(&judge, "--output-schema"));
}

#[test]
fn codex_custom_server_is_a_provider() {
    let words = provider_flags(&recorded::request(), "http://127.0.0.1:1/\"v1", 2);
    for setting in [
        "model_providers.selvedge.stream_max_retries=2",
        "model_providers.selvedge.request_max_retries=0",
        r#"model_providers.selvedge.base_url="http://127.0.0.1:1/\"v1""#,
    ] {
        assert!(
            words.iter().any(|word| word == setting),
            "{setting}: {words:?}"
        );
    }
}
