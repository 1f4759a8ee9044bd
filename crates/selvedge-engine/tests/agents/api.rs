//! Tests of sessions over the APIs of Anthropic, OpenAI and Gemini, with a scripted model server on loopback.

use selvedge_core::model::{
    AgentKind, AgentSpec, Cost, CostSource, MicroUsd, SessionOutcome, SessionStatus,
};
use selvedge_engine::agents::{ApiAgent, Backoff, SessionRequest, SessionRole};
use selvedge_testkit::{ModelScript, ModelServer, ScriptedTurn};
use serde_json::json;

use super::{AgentFixture, run, spec};

/// Models with a list price, and the path after the server's address.
const MODELS: [(&str, &str); 3] = [
    ("anthropic/claude-sonnet-4-6", "/v1"),
    ("openai/gpt-5", "/v1"),
    ("gemini/gemini-2.5-flash", "/v1beta"),
];

fn agent((model, path): (&str, &str), server: &ModelServer) -> AgentSpec {
    AgentSpec {
        model: Some(model.into()),
        base_url: Some(format!("{}{path}", server.url())),
        api_retries: 2,
        ..spec(AgentKind::Api)
    }
}

async fn session(request: &SessionRequest) -> SessionOutcome {
    run(&ApiAgent::with_backoff(Backoff::NONE), request).await
}

fn write(path: &str) -> ScriptedTurn {
    ScriptedTurn::tool("write_file", json!({"path": path, "content": "42\n"}))
}

#[tokio::test]
async fn the_model_works_through_its_tools_whoever_serves_it() {
    for model in MODELS {
        let fixture = AgentFixture::new();
        let both = write("src/answer")
            .and_tool("run_command", json!({"command": "cat src/answer; exit 3"}));
        let server = ModelServer::start([both, ScriptedTurn::text("Done.")]);
        let outcome = session(&fixture.request(agent(model, &server))).await;
        assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
        assert_eq!(fixture.read("src/answer"), "42\n");
        assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", Some(2)));
        assert_eq!((outcome.tool_calls, outcome.tool_errors), (2, 1));
        assert_eq!(outcome.calls[0].writes.as_deref(), Some("src/answer"));
        assert_eq!((outcome.usage.input, outcome.usage.output), (200, 20));
        assert_eq!(outcome.cost.source, CostSource::Estimated);
        assert!(outcome.cost.at_least() > MicroUsd(0));
        let second_request = server.requests()[1].body.to_string();
        assert!(
            second_request.contains("exit code 3"),
            "both answers went back: {second_request}"
        );
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_what_stays_is_not() {
    for model in MODELS {
        let fixture = AgentFixture::new();
        let server = ModelServer::start([
            ScriptedTurn::status(529),
            ScriptedTurn::rate_limited(0),
            write("answer"),
            ScriptedTurn::text("Done."),
        ]);
        let outcome = session(&fixture.request(agent(model, &server))).await;
        assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
        assert_eq!(outcome.api_retries, 2);

        for status in [400, 401, 404] {
            let server = ModelServer::start([
                ScriptedTurn::status(status),
                ScriptedTurn::text("never asked"),
            ]);
            let outcome = session(&fixture.request(agent(model, &server))).await;
            assert_eq!(outcome.status, SessionStatus::Failed);
            assert_eq!((outcome.api_retries, server.requests().len()), (0, 1));
            let error = outcome.error.unwrap();
            assert!(error.contains("model"), "{status}: {error}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    for model in MODELS {
        let fixture = AgentFixture::new();
        let server = ModelServer::start([
            ScriptedTurn::drop_after(40),
            write("answer"),
            ScriptedTurn::text("Done."),
        ]);
        let outcome = session(&fixture.request(agent(model, &server))).await;
        assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
        assert_eq!((outcome.api_retries, outcome.tool_calls), (1, 1));
    }
}

#[tokio::test]
async fn a_busy_api_is_asked_more_often_than_one_that_fails() {
    for model in MODELS {
        let fixture = AgentFixture::new();
        let busy = (0..6).map(|_| ScriptedTurn::status(429));
        let turns = busy.chain([write("answer"), ScriptedTurn::text("Done.")]);
        let server = ModelServer::start(ModelScript::new().session(turns));
        let outcome = session(&fixture.request(agent(model, &server))).await;
        assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
        assert_eq!(outcome.api_retries, 6);

        let failing = (0..9).map(|_| ScriptedTurn::status(500));
        let server = ModelServer::start(ModelScript::new().session(failing));
        let outcome = session(&fixture.request(agent(model, &server))).await;
        assert_eq!(
            (outcome.status, outcome.api_retries),
            (SessionStatus::Failed, 2)
        );
        assert_eq!(
            outcome.cost,
            Cost::UNKNOWN,
            "a refused call is not known to be free"
        );
    }
}

#[tokio::test]
async fn the_cost_of_a_call_that_breaks_off_is_at_least_what_the_api_reported() {
    let model = MODELS[0];
    let fixture = AgentFixture::new();
    let mut request = fixture.request(AgentSpec {
        api_retries: 0,
        ..agent(model, &ModelServer::start([]))
    });
    // Anthropic reports the input in the first record.
    let server = ModelServer::start([ScriptedTurn::drop_after(600).usage(1_000, 50)]);
    request.agent.base_url = Some(format!("{}{}", server.url(), model.1));
    let outcome = session(&request).await;
    assert_eq!(outcome.status, SessionStatus::Failed, "{outcome:?}");
    assert_eq!(outcome.usage.input, 1_000);
    assert_eq!(outcome.cost.source, CostSource::Unknown);
    assert!(outcome.cost.at_least() >= MicroUsd(3_000), "{outcome:?}");

    // The cost of complete calls is counted even if a later call breaks off.
    let server = ModelServer::start([write("a").usage(1_000, 50), ScriptedTurn::drop_after(0)]);
    request.agent.base_url = Some(format!("{}{}", server.url(), model.1));
    let outcome = session(&request).await;
    assert_eq!(outcome.cost.source, CostSource::Unknown);
    assert!(outcome.cost.at_least() >= MicroUsd(3_000), "{outcome:?}");
}

#[tokio::test]
async fn limits_are_reported_as_themselves() {
    for model in MODELS {
        let fixture = AgentFixture::new();
        let server = ModelServer::start([write("a"), write("b"), write("c")]);
        let mut request = fixture.request(agent(model, &server));
        request.limits.max_turns = Some(2);
        let outcome = session(&request).await;
        assert_eq!(outcome.status, SessionStatus::TurnLimit, "{outcome:?}");

        let server = ModelServer::start([ScriptedTurn::hang()]);
        let mut request = fixture.request(agent(model, &server));
        request.limits.idle_timeout_ms = 200;
        assert_eq!(session(&request).await.status, SessionStatus::Timeout);

        let server = ModelServer::start([
            write("a").usage(1_000_000, 0),
            ScriptedTurn::text("never asked"),
        ]);
        let mut request = fixture.request(agent(model, &server));
        request.cost_left = Some(MicroUsd(1_000));
        let outcome = session(&request).await;
        assert_eq!(outcome.status, SessionStatus::Budget, "{outcome:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_judge_answers_by_the_schema_and_has_no_tools() {
    // The scripted server treats a Gemini request without tools as a side call of Gemini's CLI.
    for model in [MODELS[0], MODELS[1]] {
        let fixture = AgentFixture::new();
        let answer = r#"{"passed": true, "issues": [], "confidence": 0.9, "suggestion": null}"#;
        let server = ModelServer::start([ScriptedTurn::text(answer)]);
        let mut request = fixture.request(agent(model, &server));
        request.role = SessionRole::Judge;
        let outcome = session(&request).await;
        assert_eq!(
            (outcome.status, outcome.text.as_str()),
            (SessionStatus::Success, answer)
        );
        let body = &server.requests()[0].body;
        assert!(body.get("tools").is_none(), "{body}");
        assert!(body.to_string().contains("confidence"), "{body}");
    }
}

#[tokio::test]
async fn what_cannot_be_asked_says_why() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([ScriptedTurn::text("never asked")]);
    let failed = |model: &str, base_url: Option<String>| {
        let agent = AgentSpec {
            model: Some(model.into()),
            base_url,
            ..spec(AgentKind::Api)
        };
        let request = fixture.request(agent);
        async move { session(&request).await }
    };
    for (model, base_url, expected) in [
        ("gpt-5", None, "the model's provider"),
        ("acme/gpt-5", None, "the model's provider"),
        (
            "openai/gpt-5",
            Some("nowhere".to_owned()),
            "invalid model server URL",
        ),
        (
            "openai/gpt-5",
            Some("http://127.0.0.1:1/v1".to_owned()),
            "no model server answers",
        ),
    ] {
        let outcome = failed(model, base_url).await;
        assert_eq!(outcome.status, SessionStatus::Failed);
        let error = outcome.error.unwrap();
        assert!(error.contains(expected), "{model}: {error}");
    }
    assert_eq!(server.requests().len(), 0);
    let unlisted = failed("openai/of-nobody", Some(format!("{}/v1", server.url()))).await;
    assert_eq!(unlisted.cost, Cost::UNKNOWN, "no price is not zero");
}

#[tokio::test]
async fn the_models_commands_do_not_see_the_key() {
    let fixture = AgentFixture::new();
    let server = ModelServer::start([
        ScriptedTurn::tool("run_command", json!({"command": "env > seen"})),
        ScriptedTurn::text("Done."),
    ]);
    let mut agent = agent(MODELS[0], &server);
    agent
        .env
        .insert("ANTHROPIC_API_KEY".into(), "the-key-itself".into());
    agent.env.insert("OTHER".into(), "seen".into());
    let outcome = session(&fixture.request(agent)).await;
    assert_eq!(outcome.status, SessionStatus::Success, "{outcome:?}");
    let environment = fixture.read("seen");
    assert!(environment.contains("OTHER=seen") && !environment.contains("the-key-itself"));
    let headers = &server.requests()[0].headers;
    assert!(format!("{headers:?}").contains("the-key-itself"));
}
