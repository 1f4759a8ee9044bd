//! Tests of Claude Code's adapter with scripts in place of the program, for behavior that parsing records alone cannot
//! show (signals, fresh sessions, counting of retries). The real program has an end-to-end suite.

use selvedge_core::model::{AgentKind, AgentSpec, Cost, MicroUsd, SessionStatus};
use selvedge_engine::agents::{Agent, Backoff, ClaudeAgent};

use super::{AgentFixture, CancelOnFirstActivity, run, spec};

const SAYS_HELLO: &str = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hello"}]}}'"#;
const SUCCESS: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"all done","total_cost_usd":0.5}'"#;

fn script_agent(script: &str) -> AgentSpec {
    AgentSpec {
        program: vec!["sh".into(), "-c".into(), script.into()],
        ..spec(AgentKind::Claude)
    }
}

#[tokio::test]
async fn a_success_that_is_said_after_our_own_signal_is_none() {
    let fixture = AgentFixture::new();
    let script = format!(
        "trap '{}; exit 0' INT; {SAYS_HELLO}; while :; do sleep 0.01; done",
        SUCCESS.replace('\'', r"'\''")
    );
    let watcher = CancelOnFirstActivity::default();
    let request = fixture.request(script_agent(&script));
    let outcome = ClaudeAgent::default()
        .run(&request, &watcher, &watcher.cancel)
        .await;
    assert_eq!(outcome.status, SessionStatus::Cancelled, "{outcome:?}");
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(500_000)));
}

#[tokio::test]
async fn a_success_that_was_said_is_not_undone_by_a_program_that_lingers() {
    let fixture = AgentFixture::new();
    let watcher = CancelOnFirstActivity::default();
    let request = fixture.request(script_agent(&format!("{SUCCESS}; exec sleep 600")));
    let outcome = ClaudeAgent::default()
        .run(&request, &watcher, &watcher.cancel)
        .await;
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    assert_eq!(outcome.text, "all done");
}

#[tokio::test]
async fn a_fresh_session_draws_on_the_allowance_of_the_one_that_failed() {
    let fixture = AgentFixture::new();
    let overloaded = r#"echo $CLAUDE_CODE_MAX_RETRIES >> allowances; cat > prompt
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"total_cost_usd":0.01}'
exit 1"#;
    let agent = AgentSpec {
        api_retries: 2,
        ..script_agent(overloaded)
    };
    let claude = ClaudeAgent::with_backoff(Backoff::NONE);
    let outcome = run(&claude, &fixture.request(agent)).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    assert_eq!(fixture.read("allowances"), "2\n1\n0\n");
    assert_eq!(outcome.api_retries, 2);
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(30_000)));
    assert_eq!(fixture.read("prompt"), "Write the answer.");
}

#[tokio::test]
async fn what_the_program_itself_used_up_is_not_granted_again() {
    let fixture = AgentFixture::new();
    let overloaded = r#"echo session >> sessions
for n in 1 2; do echo '{"type":"system","subtype":"api_retry","attempt":1,"error_status":529}'; done
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529}'; exit 1"#;
    let agent = AgentSpec {
        api_retries: 2,
        ..script_agent(overloaded)
    };
    let claude = ClaudeAgent::with_backoff(Backoff::NONE);
    let outcome = run(&claude, &fixture.request(agent)).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    assert_eq!(outcome.api_retries, 2);
    assert_eq!(fixture.read("sessions"), "session\n");
}

#[tokio::test]
async fn a_program_that_refuses_to_run_says_why_on_stderr() {
    let fixture = AgentFixture::new();
    let refuses = "echo 'cannot be used with root privileges' >&2; exit 1";
    let outcome = run(
        &ClaudeAgent::default(),
        &fixture.request(script_agent(refuses)),
    )
    .await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    let error = outcome.error.unwrap();
    assert!(
        error.contains("cannot be used with root privileges"),
        "{error}"
    );
    assert_eq!(outcome.cost, Cost::UNKNOWN);
}
