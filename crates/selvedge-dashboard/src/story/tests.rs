use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, Event};
use serde_json::{Value, json};

use super::*;

const ID: &str = "0190a1b2-0000-7000-8000-000000000001";

/// Folds events, each with its type and data.
fn run(events: &[(&str, Value)]) -> Run {
    let mut state = JournalState::default();
    for (seq, (kind, data)) in (1..).zip(events) {
        let event = json!({ "type": kind, "data": data });
        let event: Event = serde_json::from_value(event).unwrap();
        let envelope = Envelope {
            v: 1,
            run_id: ID.parse().unwrap(),
            seq,
            at: Timestamp::UNIX_EPOCH,
            event,
        };
        state = evolve(state, &envelope);
    }
    state.run.unwrap()
}

fn created() -> (&'static str, Value) {
    let agent = json!({ "name": "opus", "kind": "command", "program": ["a"] });
    let spec = json!({
        "task_id": ID, "description": "Fix it", "workspace": "/w", "agent": agent,
        "verification": { "mode": "steps", "steps": [] }, "max_verification_retries": 3,
        "verification_timeout_ms": 1000, "limits": { "wall_ms": 1, "silence_ms": 1 },
        "snapshots": true, "selvedge_version": "0",
    });
    ("run_created", json!({ "spec": spec }))
}

fn began(number: u32, correction: Option<&str>) -> (&'static str, Value) {
    let prompt = json!({ "task": "Fix it", "correction": correction });
    let began = json!({ "run_number": number, "prompt": prompt, "from_tree": tree("start"), "retry": number - 1 });
    ("attempt_began", began)
}

fn tree(name: &str) -> Value {
    let digits = selvedge_core::format::hex(name.as_bytes());
    Value::from(format!("{digits:0>64}"))
}

/// A report with one check, which has these failed and passed tests.
fn reported(number: u32, failed: &[&str], passed: &[&str]) -> (&'static str, Value) {
    let status = if failed.is_empty() { "pass" } else { "fail" };
    let failures = failed.iter().map(|test| {
        json!({ "kind": "test", "id": test, "summary": "assert 3 == 4", "file": "/w/a.py", "line": 12 })
    });
    let names = json!({ "name": "pytest", "mode": "text", "names_passed": true, "names_failed": true, "names_skipped": true });
    let tests = json!({
        "executed": failed.len() + passed.len(), "passed": passed.len(), "failed": failed.len(),
        "failed_ids": { "ids": failed }, "passed_ids": { "ids": passed }, "readers": [names],
    });
    let check = json!({
        "type": "test_passes", "target": "pytest", "status": status, "tests": tests,
        "failures": failures.collect::<Vec<_>>(),
    });
    let count = u32::from(failed.is_empty());
    let report = json!({
        "task_id": ID, "run_number": number, "status": status, "checks": [check],
        "summary": { "total": 1, "passed": count, "failed": 1 - count },
        "tree": tree(&number.to_string()), "started_at": "1970-01-01T00:00:00Z", "duration_ms": 1500,
    });
    ("reported", json!({ "effect": 0, "report": report }))
}

fn closed(number: u32) -> (&'static str, Value) {
    let closed = json!({ "run_number": number, "closing": "report" });
    ("attempt_closed", closed)
}

fn decided(outcome: &str, delivered: Option<u32>) -> [(&'static str, Value); 2] {
    let decided = json!({ "outcome": outcome, "reason": "it is over", "delivered": delivered });
    [
        ("outcome_decided", decided),
        ("run_finished", json!({ "outcome": outcome })),
    ]
}

fn story(run: &Run) -> RunStory {
    RunStory::from_run(run, Timestamp::UNIX_EPOCH)
}

#[test]
fn story_tells_failure_prompt_and_recovery() {
    let correction = "VERIFICATION RETRY 1/3\n\nThis is a fresh session. The files are kept.\n\
                      Blocks fenced with F are output.\n\nFAILED CHECKS:\n- pytest: FAIL (exited with 1)\n\
                      <<<F\ntest_three ... ok\na.py:12 assert 3 == 4\nF>>>\n\nPASSED CHECKS (keep these passing):\n- lint";
    let mut events = vec![
        created(),
        began(1, None),
        reported(1, &["t::one", "t::two"], &["t::three"]),
        closed(1),
        began(2, Some(correction)),
        reported(2, &["t::two"], &["t::one", "t::three"]),
        closed(2),
        began(3, Some(correction)),
        reported(3, &[], &["t::one", "t::two", "t::three"]),
        closed(3),
    ];
    events.extend(decided("verified", Some(3)));
    let run = run(&events);
    let story = story(&run);
    let words: Vec<_> = story.attempts.iter().map(|it| it.verdict.words()).collect();
    assert_eq!(words, ["check failed", "check failed", "verified"]);
    assert_eq!(
        (story.best, story.left),
        (Some(3), WorkspaceTree::Attempt(3))
    );

    let first = &story.attempts[0];
    assert_eq!(first.feedback, Vec::<String>::new());
    assert_eq!((first.problems.len(), first.more_problems), (2, 0));
    let problem = &first.problems[0];
    assert_eq!(
        (problem.title.as_str(), problem.text.as_str()),
        ("t::one", "assert 3 == 4")
    );
    assert_eq!(problem.location.as_deref(), Some("a.py:12"));
    assert_eq!(
        story.attempts[1].feedback,
        ["pytest: FAIL (exited with 1)", "a.py:12 assert 3 == 4"]
    );
    let counts: Vec<_> = story
        .attempts
        .iter()
        .map(|it| it.tally.unwrap().failed)
        .collect();
    assert_eq!(counts, [2, 1, 0]);

    let (failed, passed) = (TestCell::Failed, TestCell::Passed);
    let rows: Vec<_> = story
        .tests
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.cells.clone()))
        .collect();
    assert_eq!(
        rows,
        [
            ("t::one", vec![failed, passed, passed]),
            ("t::two", vec![failed, failed, passed]),
        ]
    );
}

#[test]
fn rejected_attempt_is_never_good() {
    let review = |accepted: bool| {
        let reason = "It is too slow";
        (
            "reviewed",
            json!({ "accepted": accepted, "by": "ada", "reason": reason }),
        )
    };
    let requested = || ("review_requested", json!({ "reason": "a test is skipped" }));
    let passed = |number: u32| {
        [
            began(number, None),
            reported(number, &[], &["t"]),
            closed(number),
        ]
    };
    let mut events = vec![created()];
    events.extend(passed(1));
    let verdict = |events: &[(&str, Value)], number: u32| {
        story(&run(events)).attempt(number).unwrap().verdict.clone()
    };
    assert_eq!(verdict(&events, 1).tone(), Tone::Live, "not decided yet");
    events.push(requested());
    assert_eq!(verdict(&events, 1), AttemptVerdict::AwaitingReview);
    events.push(review(false));
    assert_eq!(
        verdict(&events, 1),
        AttemptVerdict::RejectedBy("ada".to_owned())
    );
    // The rejection stays with its attempt once another one has begun.
    events.extend(passed(2));
    assert_eq!(verdict(&events, 1).tone(), Tone::Bad);
    let rejected = run(&events);
    assert_eq!(
        story(&rejected).attempts[0].problems[0].text,
        "It is too slow"
    );
    events.push(requested());
    events.push(review(true));
    events.extend(decided("verified", Some(2)));
    assert_eq!(
        verdict(&events, 2),
        AttemptVerdict::AcceptedBy("ada".to_owned())
    );
    assert_eq!(
        verdict(&events, 2).tone(),
        Tone::Person,
        "not the same as verified"
    );

    let gate = json!({ "tier": 2, "passed": false, "judgements": [{ "judge": "critic", "issues": ["it greets nobody"] }] });
    let judged = (
        "gate_judged",
        json!({ "effect": 0, "run_number": 1, "gate": gate }),
    );
    let mut events = vec![created()];
    let [began, report, closed] = passed(1);
    events.extend([began, report, judged, closed]);
    events.extend(decided("max_retries_exhausted", Some(1)));
    assert_eq!(verdict(&events, 1), AttemptVerdict::RejectedByJudge(2));
    let judged = run(&events);
    let problem = &story(&judged).attempts[0].problems[0];
    assert_eq!(
        (problem.title.as_str(), problem.text.as_str()),
        ("judge critic, tier 2", "it greets nobody")
    );
}

#[test]
fn story_of_running_attempt_has_no_cost_yet() {
    let run = run(&[created(), began(1, None)]);
    let story = story(&run);
    assert_eq!(story.attempts[0].cost, None);
    assert_eq!(story.attempts[0].verdict, AttemptVerdict::Running);
    assert_eq!((story.best, story.left), (None, WorkspaceTree::Unknown));
}

#[test]
fn salient_line_is_the_assertion() {
    let digest = "FAILED (exit 1)\ngreets ... FAILED\nerror: expected hello, got 'helo'\n";
    assert_eq!(
        salient_line(digest),
        Some("error: expected hello, got 'helo'")
    );
    assert_eq!(
        salient_line("FAILED (exit 2)\n\n 3 of 4 pass\n"),
        Some("3 of 4 pass")
    );
    assert_eq!(salient_line("FAILED (exit 2)\n"), None);
}
