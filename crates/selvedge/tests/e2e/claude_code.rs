//! Claude Code itself, through the real `selvedge run`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use selvedge_testkit::{Answer, ModelServer, Request, Script, TestEnv, Turn};
use serde_json::json;

use crate::corrected;
use crate::stage::{connect, run, stage, writes};

#[test]
fn a_task_is_done_at_the_first_attempt() {
    let env = stage();
    let server = ModelServer::start([writes(&env, "42\n"), Turn::text("It is 42.")]);
    connect(&env, &server);
    let out = run(&env, &["--format", "json"]).run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["outcome"], "verified");
    assert_eq!(result["verification_attempts"], 1);
    assert_eq!(result["output"], "It is 42.");
    assert_eq!(result["cost_source"], "reported");
    assert!(result["estimated_cost_usd"].as_f64().unwrap() > 0.0);
    assert!(server.prompts()[0].contains(corrected::TASK));
    assert_eq!(env.read("answer"), "42\n");
    assert!(env.processes().is_empty(), "{:?}", env.processes());
}

#[test]
fn a_failed_attempt_is_corrected_in_a_fresh_session() {
    let env = stage();
    let script = Script::new()
        .session([writes(&env, "41\n"), Turn::text("It is 41.")])
        .session([
            Turn::tool("Read", json!({"file_path": env.work().join("answer")})),
            writes(&env, "42\n"),
            Turn::text("It is 42."),
        ]);
    let server = ModelServer::start(script);
    connect(&env, &server);
    let corrected = corrected::run(&env, "claude");
    let prompts = server.prompts();
    corrected.assert_whole(&prompts);
    assert!(prompts[1].contains("It is 41."), "{}", prompts[1]);
    assert_eq!(server.turns_left(), 0);
    let ids: Vec<_> = [0, 1]
        .map(|index| &corrected.story["attempts"][index]["session"]["session_id"])
        .to_vec();
    assert!(ids[0].is_string() && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn a_turn_limit_is_5_and_nothing_is_verified() {
    let env = stage();
    let turns = [
        writes(&env, "40\n"),
        writes(&env, "41\n"),
        writes(&env, "42\n"),
        Turn::text("It is 42."),
    ];
    let server = ModelServer::start(turns);
    connect(&env, &server);
    let out = run(&env, &["--format", "json"])
        .env("SELVEDGE_LIMITS_MAX_TURNS", "1")
        .run();
    out.assert_code(5);
    assert_eq!(out.json()["outcome"], "turn_limit");
    assert_eq!(out.json()["verification_attempts"], 0);
}

#[test]
fn an_api_that_stays_overloaded_is_3_and_spends_no_verification_retry() {
    let env = stage();
    let overloaded = || std::iter::repeat_n(Turn::status(529), 20);
    let script = Script::new()
        .session(overloaded())
        .session(overloaded())
        .session(overloaded());
    let server = ModelServer::start(script);
    connect(&env, &server);
    let out = run(&env, &[]).run();
    out.assert_code(3);
    assert!(out.stderr.contains("not a verification retry"), "{out}");
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["result"]["outcome"], "failed");
    assert_eq!(story["result"]["verification_attempts"], 0);
    assert_eq!(story["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(story["attempts"][0]["session"]["api_retries"], 2);
    // The two kinds of retries draw on one allowance: they do not multiply.
    let is_asked = |request: &&Request| matches!(request.answer, Answer::Turn { .. });
    assert_eq!(server.requests().iter().filter(is_asked).count(), 3);
}

#[test]
fn a_request_that_the_api_refuses_is_3_and_is_not_made_again() {
    let env = stage();
    let server = ModelServer::start([Turn::status(400), Turn::text("Too late.")]);
    connect(&env, &server);
    let out = run(&env, &["--format", "json"]).run();
    out.assert_code(3);
    let reason = out.json()["reason"].to_string();
    assert!(reason.contains("scripted 400"), "{reason}");
    assert_eq!(server.turns_left(), 1);
}

#[test]
fn a_session_that_meets_the_cap_on_cost_is_6() {
    let env = stage();
    let dear = writes(&env, "42\n").usage(1_000_000, 1_000);
    let server = ModelServer::start([dear, writes(&env, "42\n"), Turn::text("It is 42.")]);
    connect(&env, &server);
    let out = run(&env, &["--max-cost", "0.02", "--format", "json"]).run();
    out.assert_code(6);
    let result = out.json();
    assert_eq!(result["outcome"], "budget");
    assert_eq!(result["verification_status"], "execution_failed");
    let spent = result["estimated_cost_usd"].as_f64().unwrap();
    assert!(spent > 0.02, "the overshoot is counted: {spent}");
}

#[test]
fn killed_in_the_middle_of_a_tool_call_a_run_is_resumed_and_ends_right() {
    let slow = Slow::new();
    let env = &slow.env;
    let script = Script::new()
        .session([writes(env, "41\n"), Slow::turn()])
        .session([writes(env, "42\n"), Turn::text("It is 42.")]);
    let server = ModelServer::start(script);
    connect(env, &server);
    let child = run(env, &[]).spawn();
    slow.wait_for_its_start();
    child.kill();
    child.wait().assert_code(137);

    let out = env.selvedge(["resume", "--format", "json"]).run();
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    assert_eq!(out.json()["verification_attempts"], 1);
    assert!(
        !out.json()["warnings"].as_array().unwrap().is_empty(),
        "what the attempt that was cut off has cost is not known: {out}"
    );
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["attempts"][0]["closing"], "interrupted");
    assert_eq!(story["attempts"][1]["run_number"], 2);
    assert_eq!(server.prompts().len(), 2, "each attempt was paid for once");
    slow.nothing_of_it_lives();
}

#[test]
fn stopped_by_the_clock_in_the_middle_of_a_tool_call_is_4_whatever_it_says_then() {
    let slow = Slow::new();
    let env = &slow.env;
    // The check would pass: a success that the agent claims once it is stopped would be believed.
    let turns = [
        writes(env, "42\n"),
        Slow::turn(),
        Turn::text("It is 42."),
        Turn::text("It is 42."),
    ];
    let server = ModelServer::start(turns);
    connect(env, &server);
    let out = run(env, &["--timeout", "12s", "--format", "json"]).run();
    out.assert_code(4);
    let result = out.json();
    assert_eq!(result["outcome"], "timeout");
    assert_eq!(result["verification_attempts"], 0);
    assert_eq!(
        result["cost_source"], "reported",
        "it had the time to say what it cost: {out}"
    );
    slow.nothing_of_it_lives();
}

/// A repository with a command that never ends and says on a file that it lives.
struct Slow {
    env: TestEnv,
    heartbeat: PathBuf,
}

impl Slow {
    fn new() -> Self {
        let env = stage();
        let heartbeat = env.root().join("heartbeat");
        let file = heartbeat.display();
        let slow = format!("while :; do date +%N >> '{file}'; sleep 0.02; done\n");
        env.write("slow.sh", slow);
        env.commit("Add something slow");
        Self { env, heartbeat }
    }

    /// The model has the agent run it.
    fn turn() -> Turn {
        Turn::tool("Bash", json!({"command": "sh slow.sh"}))
    }

    fn wait_for_its_start(&self) {
        let began = Instant::now();
        while !self.heartbeat.exists() {
            assert!(began.elapsed() < Duration::from_mins(1), "waited in vain");
            std::thread::yield_now();
        }
    }

    fn nothing_of_it_lives(&self) {
        let living = self.env.processes();
        assert!(living.is_empty(), "{living:?}");
        let length = || std::fs::metadata(&self.heartbeat).unwrap().len();
        let before = length();
        // That nothing happens shows only in time.
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(length(), before, "something of the old tree still writes");
    }
}

#[test]
fn another_of_its_models_judges_the_work_without_any_tool() {
    let env = stage();
    let no = r#"{"passed": false, "issues": ["nobody can read it"], "confidence": 0.9, "suggestion": null}"#;
    let yes = r#"{"passed": true, "issues": [], "confidence": 0.9, "suggestion": null}"#;
    let answers = |json: &str| {
        let answer = serde_json::from_str(json).unwrap();
        Turn::tool("StructuredOutput", answer).usage(2_000, 60)
    };
    let script = Script::new()
        .session([writes(&env, "42\n"), Turn::text("It is 42.")])
        .session([answers(no)])
        .session([writes(&env, "42\n\n"), Turn::text("It is 42, with room.")])
        .session([answers(yes)]);
    let server = ModelServer::start(script);
    connect(&env, &server);
    let out = run(&env, &["--tier", "2", "--format", "json"]).run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["verification_attempts"], 2);
    let prompts = server.prompts();
    assert!(prompts[2].contains("nobody can read it"), "{}", prompts[2]);
    assert!(prompts[3].contains("+42"), "{}", prompts[3]);
    assert!(
        prompts[3].contains("It is 42, with room."),
        "{}",
        prompts[3]
    );

    let judgement = &result["verification_report"]["gates"][0]["judgements"][0];
    assert!(
        judgement["model"].as_str().unwrap().contains("opus"),
        "{judgement}"
    );
    assert_eq!(judgement["cost"]["source"], "reported");
    assert!(judgement.get("same_model").is_none());
    let judged = |request: &&Request| matches!(request.answer, Answer::Turn { session, .. } if session % 2 == 0);
    for request in server.requests().iter().filter(judged) {
        let tools = request.body["tools"].as_array();
        let names = tools.into_iter().flatten().map(|tool| &tool["name"]);
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["StructuredOutput"],
            "it can but answer"
        );
    }
}
