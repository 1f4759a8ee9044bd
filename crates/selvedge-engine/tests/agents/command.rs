//! Tests of arbitrary programs as agents: how they get the prompt, and how their output is interpreted.

use selvedge_core::model::{AgentKind, AgentSpec, Cost, MicroUsd, SessionStatus};
use selvedge_engine::agents::CommandAgent;

use super::{AgentFixture, run, spec};

fn shell(script: &str) -> AgentSpec {
    AgentSpec {
        program: vec!["sh".into(), "-c".into(), script.into()],
        ..spec(AgentKind::Command)
    }
}

#[tokio::test]
async fn the_prompt_comes_on_stdin_or_as_the_last_argument() {
    let fixture = AgentFixture::new();
    let outcome = run(&CommandAgent, &fixture.request(shell("cat"))).await;
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "Write the answer.");
    assert_eq!(outcome.cost, Cost::UNKNOWN);

    let agent = AgentSpec {
        prompt_as_argument: true,
        server_by_repository: false,
        ..shell("cat; echo \"[$0]\"")
    };
    let outcome = run(&CommandAgent, &fixture.request(agent)).await;
    assert_eq!(outcome.text, "[Write the answer.]");
}

#[tokio::test]
async fn a_prompt_too_long_for_an_argument_is_refused_with_a_way_out() {
    let fixture = AgentFixture::new();
    let agent = AgentSpec {
        prompt_as_argument: true,
        server_by_repository: false,
        ..shell("touch ran")
    };
    let mut request = fixture.request(agent);
    request.prompt.task = "x".repeat(200_000);
    let outcome = run(&CommandAgent, &request).await;
    assert_eq!(outcome.status, SessionStatus::Infra);
    assert!(outcome.error.unwrap().contains("read it from stdin"));
    assert!(!fixture.work().join("ran").exists());
}

#[tokio::test]
async fn records_outrank_the_exit_code_and_tell_the_cost() {
    let fixture = AgentFixture::new();
    let claims = r#"echo '{"type":"system","subtype":"init","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":true,"result":"no","total_cost_usd":0.25}'; exit 0"#;
    let outcome = run(&CommandAgent, &fixture.request(shell(claims))).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    assert_eq!(outcome.error.as_deref(), Some("no"));
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(250_000)));
}

#[tokio::test]
async fn what_outlives_the_program_is_ended_and_counted() {
    let fixture = AgentFixture::new();
    let leaves = "setsid sleep 600 > /dev/null 2>&1 & echo done";
    let outcome = run(&CommandAgent, &fixture.request(shell(leaves))).await;
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.processes.unwrap().ended, 1);
}
