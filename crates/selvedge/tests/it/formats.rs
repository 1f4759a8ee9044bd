//! The interface for scripts: standard output contains only the result.

use crate::fixtures::{agent, env_with_repo, run_json};

#[test]
fn json_is_one_object_with_all_contract_fields() {
    let env = env_with_repo();
    let out = run_json(&env, &agent(&env, "echo good > out"), "test -s out", &[]);
    let result = out.json();
    for field in [
        "status",
        "output",
        "model_used",
        "tokens_in",
        "tokens_out",
        "estimated_cost_usd",
        "equivalent_claude_cost_usd",
        "cost_source",
        "execution_ms",
        "verification_report",
        "verification_history",
        "verification_status",
        "verification_attempts",
        "max_verification_retries",
        "outcome",
    ] {
        assert!(result.get(field).is_some(), "{field} is missing: {result}");
    }
    assert_eq!(
        result["cost_source"], "unknown",
        "a shell script does not tell what it cost"
    );
    assert!(
        result["estimated_cost_usd"].is_null(),
        "unknown is not zero"
    );
    assert_eq!(out.stdout.lines().count(), 1);
}

#[test]
fn jsonl_has_every_event_and_then_the_result() {
    let env = env_with_repo();
    let agent = agent(&env, "test -e begun && echo good > out; touch begun");
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "test -s out",
        "--retries",
        "2",
        "--format",
        "jsonl",
    ];
    let lines = env.selvedge(run).run().jsonl();
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(result["outcome"], "verified");
    let (journal, progress): (Vec<_>, Vec<_>) = events
        .iter()
        .cloned()
        .partition(|event| event.get("seq").is_some());
    let numbers: Vec<u64> = journal
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=journal.len() as u64).collect::<Vec<_>>());
    assert_eq!(journal[0]["type"], "run_created");
    assert_eq!(journal.last().unwrap()["type"], "run_finished");
    // The stored journal contains the same events.
    let stored = env.selvedge(["show", "--format", "jsonl"]).run().jsonl();
    assert_eq!(stored, journal);
    let retry = progress
        .iter()
        .find(|event| event["event_type"] == "verification_retry_start")
        .unwrap();
    assert_eq!(
        (&retry["attempt"], &retry["max_retries"]),
        (&1.into(), &2.into())
    );
    let last_check = progress
        .iter()
        .rfind(|event| event["event_type"] == "verification_check_result")
        .unwrap();
    assert_eq!(last_check["check_type"], "command");
    assert_eq!(last_check["check_status"], "pass");
    let end = progress.last().unwrap();
    assert_eq!(end["event_type"], "verification_retry_complete");
    assert_eq!(end["passed"], 1);
}

#[test]
fn external_result_is_verified_once_without_an_agent() {
    let env = env_with_repo();
    let run = [
        "run",
        "x",
        "--agent",
        "external",
        "--retries",
        "2",
        "--check",
        "test -s out",
    ];
    let failed = env.selvedge(run).args(["--format", "json"]).run();
    failed.assert_code(1);
    assert_eq!(failed.json()["verification_attempts"], 1);
    env.write("out", "left by another program\n");
    let verified = env.selvedge(run).args(["--format", "json"]).run();
    verified.assert_code(0);
    assert_eq!(verified.json()["outcome"], "verified");
}

#[test]
fn hostile_output_reaches_no_terminal_unescaped() {
    let env = env_with_repo();
    let agent = agent(&env, r"printf '\033]0;owned\007\033[2J I am done \033[31m'");
    let check = r"printf '\033[2Jsrc/a.c:3: error: \033]8;;http://x\007bad\n'; exit 1";
    let out = env
        .selvedge([
            "run",
            "x",
            "--agent-cmd",
            &agent,
            "--check",
            check,
            "--retries",
            "0",
        ])
        .run();
    out.assert_code(1);
    let shown = env.selvedge(["show", "--prompt"]).run();
    for text in [&out.stdout, &out.stderr, &shown.stdout] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text:?}"
        );
    }
    assert!(out.stderr.contains("src/a.c:3"), "{}", out.stderr);
}

#[test]
fn hostile_flood_of_output_is_bounded() {
    let env = env_with_repo();
    // 30 MB, a third of which is one line that is not UTF-8; the engine's tests exceed the size limit of stored output.
    let one_line = r"head -c 10000000 /dev/zero | tr '\0' '\377'";
    let lines = "yes 'an ordinary line of a long log, of which there are a great many more'";
    let flood = format!("{one_line}; {lines} | head -c 20000000");
    let agent = agent(&env, &format!("{lines} | head -c 5000000"));
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        &format!("{flood}; exit 1"),
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(1);
    let check = &out.json()["verification_report"]["checks"][0];
    assert_eq!(check["output_ref"]["bytes"], 30_000_000_u64);
    assert!(check["output"].as_str().unwrap().len() < 64 << 10);
}
