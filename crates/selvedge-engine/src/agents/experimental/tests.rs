//! Parsing of records as the vendors of these programs document them: no real session has been
//! recorded.

use selvedge_core::model::SessionStatus;

use super::{copilot, cursor, droid, goose};
use crate::agents::jsonl::{EventParser, ParsedSession, tests as recorded};

/// A session with a text, a tool that wrote a file, a tool that failed, and a successful end:
/// parsed completely it has this outcome, and without its last record it is a failure, whatever the
/// exit code is.
fn check<R: EventParser>(lines: &str, expect: &str) {
    let outcome = recorded::RecordedSession::<ParsedSession<R>>::read(lines).exited(1);
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    assert_eq!(outcome.text, expect);
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (2, 1));
    assert!(outcome.calls[1].error.is_some(), "{:?}", outcome.calls);
    assert_eq!(outcome.session_id.as_deref().unwrap_or("s"), "s");
    assert_eq!(outcome.unknown_records, 0);

    let (cut_off, _) = lines.trim_end().rsplit_once('\n').unwrap();
    let outcome = recorded::RecordedSession::<ParsedSession<R>>::read(cut_off).exited(0);
    assert_eq!(outcome.status, SessionStatus::Failed, "it said no end");
    let novelty =
        recorded::RecordedSession::<ParsedSession<R>>::read("{\"type\":\"novelty\"}\n[]\n")
            .exited(0);
    assert_eq!(novelty.unknown_records, 2);
}

#[test]
fn cursor_is_read() {
    check::<cursor::CursorEventParser>(
        r#"{"type":"system","subtype":"init","session_id":"s","model":"Auto"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Write it."}]}}
{"type":"tool_call","subtype":"started","call_id":"1","tool_call":{"writeToolCall":{"args":{"path":"a"}}}}
{"type":"tool_call","subtype":"completed","call_id":"1","tool_call":{"writeToolCall":{"args":{"path":"a"},"result":{"success":{"path":"a"}}}}}
{"type":"tool_call","subtype":"started","call_id":"2","tool_call":{"shellToolCall":{"args":{"command":"false"}}}}
{"type":"tool_call","subtype":"completed","call_id":"2","tool_call":{"shellToolCall":{"args":{"command":"false"},"result":{"failure":{"exitCode":1}}}}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]},"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}
"#,
        "Done.",
    );
}

#[test]
fn droid_is_read() {
    check::<droid::DroidEventParser>(
        r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}
{"type":"message","role":"user","id":"m","text":"Write it."}
{"type":"tool_call","id":"1","toolName":"Create","parameters":{"file_path":"a"}}
{"type":"tool_result","id":"1","isError":false,"value":"written"}
{"type":"tool_call","id":"2","toolName":"Execute","parameters":{"command":"false"}}
{"type":"tool_result","id":"2","isError":true,"value":"exit code 1"}
{"type":"message","role":"assistant","id":"n","text":"Nearly."}
{"type":"completion","finalText":"Done.","numTurns":3,"durationMs":9}
"#,
        "Done.",
    );
}

#[test]
fn copilot_is_read() {
    check::<copilot::CopilotEventParser>(
        r#"{"type":"session.start","data":{}}
{"type":"user.message","data":{"content":"Write it."}}
{"type":"tool.execution_start","data":{"toolCallId":"1","toolName":"create","arguments":{"path":"a"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"1","success":true,"result":{"content":"ok"}}}
{"type":"tool.execution_start","data":{"toolCallId":"2","toolName":"bash","arguments":{"command":"false"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"2","success":false,"error":{"message":"exit code 1"}}}
{"type":"assistant.message","data":{"content":"Done.","model":"claude-haiku-4.5"}}
{"type":"result","sessionId":"s","exitCode":0,"usage":{}}
"#,
        "Done.",
    );
}

#[test]
fn goose_is_read() {
    check::<goose::GooseEventParser>(
        r#"{"type":"message","message":{"id":"m","role":"assistant","content":[{"type":"toolRequest","id":"1","toolCall":{"status":"success","value":{"name":"write","arguments":{"path":"a"}}}}]}}
{"type":"message","message":{"role":"user","content":[{"type":"toolResponse","id":"1","toolResult":{"status":"success","value":[]}}]}}
{"type":"message","message":{"id":"n","role":"assistant","content":[{"type":"toolRequest","id":"2","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"false"}}}}]}}
{"type":"message","message":{"role":"user","content":[{"type":"toolResponse","id":"2","toolResult":{"status":"error","error":"exit code 1"}}]}}
{"type":"message","message":{"id":"o","role":"assistant","content":[{"type":"text","text":"Do"}]}}
{"type":"message","message":{"id":"o","role":"assistant","content":[{"type":"text","text":"ne."}]}}
{"type":"complete","total_tokens":9}
"#,
        "Done.",
    );
}
