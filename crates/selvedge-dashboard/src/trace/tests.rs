use super::*;

fn steps(lines: &[&str]) -> Vec<TraceStep> {
    Trace::parse(lines.join("\n").as_bytes(), true).steps
}

#[test]
fn trace_joins_calls_with_their_results() {
    let claude = steps(&[
        r#"{"type":"system","subtype":"init","tools":[]}"#,
        r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Looking."}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}}}"#,
        r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no rule"}]}]}}"#,
    ]);
    assert_eq!(claude.len(), 2);
    assert_eq!((claude[0].tokens, claude[0].turn), (Some((15, 2)), 1));
    let call = &claude[1];
    assert_eq!((call.name.as_str(), call.text.as_str()), ("Bash", "make"));
    assert_eq!(call.output.as_deref(), Some("no rule"));
    assert!(call.is_error && !call.is_open && call.turn == 1);

    let codex = steps(&[
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.started","item":{"id":"1","type":"command_execution","command":"ls","status":"in_progress"}}"#,
        r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":3,"status":"failed"}}"#,
        r#"{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"Done."}}"#,
    ]);
    assert_eq!(codex.len(), 2);
    assert_eq!(codex[0].output.as_deref(), Some("a"));
    assert!(codex[0].is_error);
    assert_eq!(
        (codex[1].kind, codex[1].text.as_str()),
        (TraceKind::Message, "Done.")
    );
}

#[test]
fn trace_has_times_where_the_agent_reports_them() {
    let gemini = steps(&[
        r#"{"type":"init","timestamp":"2026-11-22T12:18:34.000Z"}"#,
        r#"{"type":"message","timestamp":"2026-11-22T12:18:34.100Z","role":"assistant","content":"I ","delta":true}"#,
        r#"{"type":"message","timestamp":"2026-11-22T12:18:34.200Z","role":"assistant","content":"write.","delta":true}"#,
        r#"{"type":"tool_use","timestamp":"2026-11-22T12:18:35.000Z","tool_name":"write_file","tool_id":"w","parameters":{"file_path":"answer"}}"#,
        r#"{"type":"tool_result","timestamp":"2026-11-22T12:18:35.500Z","tool_id":"w","status":"success"}"#,
    ]);
    assert_eq!(gemini[0].text, "I write.");
    assert_eq!(gemini[1].time, Some((1000, 1500)));
}

#[test]
fn trace_takes_missing_times_from_the_journal() {
    let call = |id: &str| {
        format!(
            r#"{{"message":{{"id":"{id}","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}
{{"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":""}}]}}}}"#
        )
    };
    let text = [call("a"), call("b")].join("\n");
    let mut trace = Trace::parse(text.as_bytes(), true);
    let recorded = ToolCall {
        name: "Bash".to_owned(),
        started_ms: Some(500),
        duration_ms: Some(250),
        ..ToolCall::default()
    };
    trace.add_times(&[recorded]);
    let times: Vec<_> = trace.steps.iter().map(|step| step.time).collect();
    assert_eq!(
        times,
        [None, Some((500, 750))],
        "the older call is not recorded"
    );
    assert_eq!(trace.duration_ms, Some(750));
}

#[test]
fn trace_keeps_unknown_and_hostile_lines() {
    let trace = Trace::parse(
        b"half a record\n{\"type\":\"novel\"}\nplain <b>\nmore\n{\"type\":\"result\",\"is_error\":true,\"subtype\":\"max_turns\"}",
        false,
    );
    assert_eq!(trace.skipped, 1);
    let texts: Vec<_> = trace.steps.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["plain <b>\nmore", "the session failed: max_turns"]);
    assert!(trace.steps[1].is_error);
}
