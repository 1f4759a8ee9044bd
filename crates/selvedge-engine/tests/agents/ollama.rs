//! Tests of sessions over Ollama's API, with a scripted model server on loopback.

use selvedge_core::model::{
    AgentKind, AgentSpec, Cost, MicroUsd, SessionOutcome, SessionStatus, Usage,
};
use selvedge_engine::agents::{Backoff, OllamaAgent, SessionRequest};
use selvedge_testkit::{ModelScript, ModelServer, ScriptedTurn};
use serde_json::{Value, json};

use super::{AgentFixture, run, spec};

const MODEL: &str = "qwen3:4b";

fn agent(url: &str) -> AgentSpec {
    AgentSpec {
        model: Some(MODEL.into()),
        base_url: Some(url.into()),
        ..spec(AgentKind::Ollama)
    }
}

async fn session(request: &SessionRequest) -> SessionOutcome {
    run(&OllamaAgent::with_backoff(Backoff::NONE), request).await
}

fn write(path: &str) -> ScriptedTurn {
    ScriptedTurn::tool("write_file", json!({"path": path, "content": "42\n"}))
}

/// Returns the tool results in the last request.
fn tool_answers(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let messages = &requests.last().unwrap().body["messages"];
    let messages = messages.as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

fn roles(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["role"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn the_model_works_through_its_tools_and_a_file_is_changed() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([
        write("src/answer"),
        ScriptedTurn::tool("run_command", json!({"command": "cat src/answer; exit 3"})),
        ScriptedTurn::text("Done."),
    ]);
    let outcome = session(&fixture.request(agent(&server.url()))).await;
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    assert_eq!(fixture.read("src/answer"), "42\n");
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", Some(3)));
    assert_eq!((outcome.tool_calls, outcome.tool_errors), (2, 1));
    let answers = tool_answers(&server);
    assert!(
        answers[1].contains("42") && answers[1].contains('3'),
        "{answers:?}"
    );
    // Three turns of 100 input and 10 output tokens.
    let used = Usage {
        input: 300,
        output: 30,
        ..Usage::default()
    };
    assert_eq!(outcome.usage, used);
    assert_eq!(outcome.cost, Cost::ZERO);
    assert!(outcome.equivalent_claude_cost.unwrap() > MicroUsd(0));
}

#[tokio::test]
async fn the_workspace_is_all_that_file_tools_reach() {
    let fixture = AgentFixture::new();
    let secret = fixture.root().join("secret");
    std::fs::write(&secret, "the secret itself").unwrap();
    std::os::unix::fs::symlink(fixture.root(), fixture.work().join("link")).unwrap();
    std::os::unix::fs::symlink(&secret, fixture.work().join("shortcut")).unwrap();
    let absolute = secret.to_str().unwrap();
    let read = |path: &str| ScriptedTurn::tool("read_file", json!({"path": path}));
    let escapes = [
        write("../planted"),
        write("sub/../../planted"),
        write(&format!("{absolute}-planted")),
        write("link/planted"),
        write("shortcut"),
        read("../secret"),
        read(absolute),
        read("link/secret"),
        read("shortcut"),
    ];
    let attempts = escapes.len();
    let turns = escapes.into_iter().chain([ScriptedTurn::text("I tried.")]);
    let server = ModelServer::start(ModelScript::new().session(turns));
    let mut request = fixture.request(agent(&server.url()));
    request.limits.max_turns = Some(20);
    let outcome = session(&request).await;
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    let answers = tool_answers(&server);
    assert_eq!(answers.len(), attempts);
    assert!(
        answers.iter().all(|answer| answer.starts_with("ERROR: ")),
        "{answers:#?}"
    );
    assert!(!answers.concat().contains("the secret itself"));
    let mut outside: Vec<_> = std::fs::read_dir(fixture.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    outside.sort();
    assert_eq!(outside, ["run", "secret", "work"]);
    assert_eq!(
        std::fs::read_to_string(secret).unwrap(),
        "the secret itself"
    );
}

#[tokio::test]
async fn a_correction_is_a_follow_up_in_the_chat() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([write("answer"), ScriptedTurn::text("Fixed.")]);
    let mut request = fixture.request(agent(&server.url()));
    request.prompt.correction = Some("VERIFICATION RETRY 1/2".into());
    request.previous_output = Some("I am done.".into());
    let outcome = session(&request).await;
    assert_eq!(outcome.status, SessionStatus::Success);
    let first = &server.requests_of(1)[0].body;
    assert_eq!(roles(first), ["system", "user", "assistant", "user"]);
    let messages: Vec<_> = (1..4)
        .map(|index| first["messages"][index]["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        ["Write the answer.", "I am done.", "VERIFICATION RETRY 1/2"]
    );
}

#[tokio::test]
async fn a_model_that_merely_talks_is_told_once_that_nothing_was_done() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([
        ScriptedTurn::text("One could write 42."),
        ScriptedTurn::text("Yes."),
    ]);
    let outcome = session(&fixture.request(agent(&server.url()))).await;
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Yes.", Some(2)));
    assert_eq!(server.turns_left(), 0);
}

#[tokio::test]
async fn a_missing_model_is_named_with_the_command_that_gets_it() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start(ModelScript::from([ScriptedTurn::text("?")]).models(["other"]));
    let mut agent = agent(&server.url());
    agent.api_retries = 2;
    let outcome = session(&fixture.request(agent)).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    let error = outcome.error.unwrap();
    assert!(error.contains("`ollama pull qwen3:4b`"), "{error}");
    assert_eq!(outcome.api_retries, 0, "asking again would not bring it");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_command_that_starts_it() {
    let fixture = AgentFixture::new();
    // A port that no program listens on by itself.
    let outcome = session(&fixture.request(agent("http://127.0.0.1:1"))).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    let error = outcome.error.unwrap();
    assert!(
        error.contains("`ollama serve`") && error.contains("127.0.0.1"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_or_said() {
    for broken_turn in [ScriptedTurn::drop_after(40), ScriptedTurn::broken_json()] {
        let fixture = AgentFixture::new();
        let server = ModelServer::start([
            broken_turn.clone(),
            write("answer"),
            ScriptedTurn::text("Done."),
        ]);
        let mut agent = agent(&server.url());
        agent.api_retries = 1;
        let outcome = session(&fixture.request(agent.clone())).await;
        assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
        assert_eq!(outcome.api_retries, 1);
        assert_eq!(fixture.read("answer"), "42\n");

        let server = ModelServer::start([broken_turn]);
        agent.base_url = Some(server.url());
        agent.api_retries = 0;
        let outcome = session(&fixture.request(agent)).await;
        assert_eq!(outcome.status, SessionStatus::Failed);
        let error = outcome.error.unwrap();
        assert!(error.contains("answer is incomplete"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_as_often_as_allowed() {
    let fixture = AgentFixture::new();
    let turns = [
        ScriptedTurn::rate_limited(0),
        ScriptedTurn::status(503),
        write("answer"),
        ScriptedTurn::text("Done."),
    ];
    let server = ModelServer::start(turns);
    let mut agent = agent(&server.url());
    agent.api_retries = 2;
    let outcome = session(&fixture.request(agent.clone())).await;
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    assert_eq!(outcome.api_retries, 2);

    let server = ModelServer::start([
        ScriptedTurn::status(500),
        ScriptedTurn::status(500),
        ScriptedTurn::status(500),
    ]);
    agent.base_url = Some(server.url());
    let outcome = session(&fixture.request(agent)).await;
    assert_eq!(outcome.status, SessionStatus::Failed);
    assert!(outcome.error.unwrap().contains("500"));
    assert_eq!(server.turns_left(), 0);
}

#[tokio::test]
async fn a_model_that_finds_no_end_meets_its_turn_limit() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([write("one"), write("two"), write("three")]);
    let mut request = fixture.request(agent(&server.url()));
    request.limits.max_turns = Some(2);
    let outcome = session(&request).await;
    assert_eq!(outcome.status, SessionStatus::TurnLimit);
    assert_eq!(outcome.turns, Some(2));
    assert_eq!(server.turns_left(), 1);
    assert!(fixture.work().join("two").exists(), "its work is kept");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    for silent_turn in [ScriptedTurn::hang(), ScriptedTurn::stall_after(20)] {
        let fixture = AgentFixture::new();
        let server = ModelServer::start([silent_turn]);
        let mut request = fixture.request(agent(&server.url()));
        request.limits.idle_timeout_ms = 200;
        let outcome = session(&request).await;
        assert_eq!(outcome.status, SessionStatus::Timeout, "{outcome:?}");
    }
}
