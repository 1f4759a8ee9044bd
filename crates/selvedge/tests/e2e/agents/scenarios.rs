//! The scenarios of every agent, run by the real `selvedge run`.

use selvedge_testkit::{
    Invocation, ModelScript, ModelServer, RecordedRequest, ReplySource, ScriptedTurn, TestEnv,
    WAIT_TIMEOUT,
};
use serde_json::json;

use super::{Judgement, TestedAgent};
use crate::corrected::{self, CHECK, TASK, configure};
use crate::fixtures::env_with_repo;
use crate::slow::EndlessCommand;

/// How often an agent may repeat a failed API request within an attempt.
const RETRIES: usize = 2;

impl TestedAgent {
    fn connect(&self, env: &TestEnv, server: &ModelServer) {
        let settings = (self.settings)(env, server);
        let name = self.name;
        configure(
            env,
            &format!("[agents.{name}]\napi_retries = {RETRIES}\n{settings}"),
        );
    }

    /// A session that writes this number into `answer`.
    fn session(&self, env: &TestEnv, number: &str) -> ModelScript {
        let text = format!("{number}\n");
        ModelScript::new().session((self.solves)(env, &text, &format!("It is {number}.")))
    }

    fn run(&self, env: &TestEnv, more: &[&str]) -> Invocation {
        let fixed = ["run", TASK, "--agent", self.name, "--check", CHECK];
        env.selvedge(fixed.iter().chain(more))
    }
}

pub(super) fn success(agent: &TestedAgent) {
    let env = env_with_repo();
    let server = ModelServer::start(agent.session(&env, "42"));
    agent.connect(&env, &server);
    let out = agent.run(&env, &["--format", "json"]).run();
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["outcome"], "verified");
    assert_eq!(result["verification_attempts"], 1);
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("It is 42."), "{output}");
    assert_eq!(result["tokens_in"], agent.tokens[0], "{out}");
    assert_eq!(result["tokens_out"], agent.tokens[1]);
    assert!(server.prompts()[0].contains(TASK));
    assert_eq!(env.read("answer").trim(), "42");
    assert!(env.processes().is_empty(), "{:?}", env.processes());
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let session = &story["attempts"][0]["session"];
    assert_eq!(session["tool_calls"], agent.calls, "{session}");
    assert_eq!(session["unknown_records"], 0, "{session}");
}

pub(super) fn fail_then_fix(agent: &TestedAgent) {
    let env = env_with_repo();
    let script = agent.session(&env, "41");
    let script = script.session((agent.solves)(&env, "42\n", "It is 42."));
    let server = ModelServer::start(script);
    agent.connect(&env, &server);
    let corrected = corrected::run(&env, agent.name);
    let prompts = server.prompts();
    corrected.assert_whole(&prompts);
    assert!(prompts[1].contains("It is 41."), "{}", prompts[1]);
    assert_eq!(server.turns_left(), 0);
    let id = |index: usize| &corrected.story["attempts"][index]["session"]["session_id"];
    let have_distinct_ids = id(0).is_string() && id(0) != id(1);
    assert_eq!(
        have_distinct_ids,
        agent.names_sessions,
        "{} {}",
        id(0),
        id(1)
    );
}

pub(super) fn turn_limit(agent: &TestedAgent) {
    let env = env_with_repo();
    let turns = ["40\n", "41\n", "42\n"].map(|text| (agent.writes)(&env, text));
    let server = ModelServer::start(turns);
    agent.connect(&env, &server);
    let out = agent
        .run(&env, &["--max-turns", "1", "--format", "json"])
        .run();
    out.assert_code(5);
    assert_eq!(out.json()["outcome"], "turn_limit");
    assert_eq!(out.json()["verification_attempts"], 0);
}

/// A session that the API refuses is not repeated; some agents send the refused request again in other forms.
pub(super) fn refused(agent: &TestedAgent) {
    let env = env_with_repo();
    let refused = std::iter::repeat_n(ScriptedTurn::status(agent.refusal), 20);
    let late = [ScriptedTurn::text("Too late.")];
    let server = ModelServer::start(ModelScript::new().session(refused).session(late));
    agent.connect(&env, &server);
    let out = agent.run(&env, &["--format", "json"]).run();
    out.assert_code(3);
    let reason = out.json()["reason"].to_string();
    let message = format!("scripted {}", agent.refusal);
    assert!(reason.contains(&message), "{reason}");
    let is_late = |request: &RecordedRequest| matches!(request.answer, ReplySource::Turn { session, .. } if session > 1);
    assert!(!server.requests().iter().any(is_late));
}

/// Requests to an API that stays overloaded are repeated a limited number of times, without a verification
/// retry.
pub(super) fn overloaded(agent: &TestedAgent) {
    let env = env_with_repo();
    let overloaded = || std::iter::repeat_n(ScriptedTurn::status(503), 20);
    let script = ModelScript::new()
        .session(overloaded())
        .session(overloaded())
        .session(overloaded());
    let server = ModelServer::start(script);
    agent.connect(&env, &server);
    let out = agent.run(&env, &[]).run();
    out.assert_code(3);
    let is_reported = out.stderr.contains("not a verification retry");
    assert_eq!(is_reported, agent.counts_retries, "{out}");
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["result"]["outcome"], "failed");
    assert_eq!(story["result"]["verification_attempts"], 0);
    assert_eq!(story["attempts"].as_array().unwrap().len(), 1);
    let reported_retries = if agent.counts_retries { RETRIES } else { 0 };
    assert_eq!(
        story["attempts"][0]["session"]["api_retries"],
        reported_retries
    );
    let is_turn = |request: &&RecordedRequest| matches!(request.answer, ReplySource::Turn { .. });
    assert_eq!(
        server.requests().iter().filter(is_turn).count(),
        1 + RETRIES
    );
}

/// A run that is killed during a tool call is resumed and verified.
pub(super) fn killed(agent: &TestedAgent) {
    let slow = EndlessCommand::new();
    let env = &slow.env;
    let script = ModelScript::new()
        .session([
            (agent.writes)(env, "41\n"),
            (agent.runs)(EndlessCommand::COMMAND),
        ])
        .session((agent.solves)(env, "42\n", "It is 42."));
    let server = ModelServer::start(script);
    agent.connect(env, &server);
    let child = agent.run(env, &[]).spawn();
    slow.wait_for_start();
    child.kill();
    child.wait().assert_code(137);
    assert_resumes(env);
    assert_eq!(server.prompts().len(), 2, "each attempt was paid for once");
    slow.assert_nothing_left();
}

/// Like [`killed`], but killed during a model request: for an agent that runs no commands.
pub(super) fn killed_during_model_request(agent: &TestedAgent) {
    let env = env_with_repo();
    // The server treats the second attempt as a repeated request of the first.
    let solves = (agent.solves)(&env, "42\n", "It is 42.");
    let script = ModelScript::new().session([vec![ScriptedTurn::hang()], solves].concat());
    let server = ModelServer::start(script);
    agent.connect(&env, &server);
    let child = agent.run(&env, &[]).spawn();
    let request = server.wait_for_request(0, WAIT_TIMEOUT);
    assert!(request.is_some(), "waited in vain");
    child.kill();
    child.wait().assert_code(137);
    assert_resumes(&env);
    assert_eq!(server.turns_left(), 0);
    assert!(env.processes().is_empty(), "{:?}", env.processes());
}

fn assert_resumes(env: &TestEnv) {
    let resume = env.selvedge(["resume", "--format", "json"]);
    let out = resume.run();
    out.assert_code(0);
    assert_eq!(out.json()["outcome"], "verified");
    assert_eq!(out.json()["verification_attempts"], 1);
    let warnings = out.json()["warnings"].as_array().unwrap().len();
    assert!(
        warnings > 0,
        "what the first attempt cost is not known: {out}"
    );
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    assert_eq!(story["attempts"][0]["closing"], "interrupted");
    assert_eq!(story["attempts"][1]["run_number"], 2);
}

/// A session whose model never answers is ended by the idle timeout.
pub(super) fn hang(agent: &TestedAgent) {
    let env = env_with_repo();
    let server = ModelServer::start([ScriptedTurn::hang()]);
    agent.connect(&env, &server);
    let out = agent
        .run(&env, &["--format", "json"])
        .env("SELVEDGE_LIMITS_IDLE_TIMEOUT", agent.idle_timeout)
        .run();
    out.assert_code(4);
    assert_eq!(out.json()["outcome"], "timeout");
    let reason = out.json()["reason"].to_string();
    assert!(reason.contains("no output"), "{reason}");
    assert_eq!(server.turns_left(), 0, "it was the model that was silent");
    assert!(env.processes().is_empty(), "{:?}", env.processes());
}

/// The agent judges work, returns an answer of the required form, and cannot change any files.
pub(super) fn judge(agent: &TestedAgent) {
    let env = env_with_repo();
    let answer = json!({"passed": true, "issues": [], "confidence": 0.9, "suggestion": null});
    let text = || ScriptedTurn::text(answer.to_string()).usage(2_000, 60);
    let judgement = match agent.judgement {
        Judgement::AfterCommand => vec![(agent.runs)("echo cheated > judged.txt"), text()],
        Judgement::Text => vec![text()],
        Judgement::Tool(tool) => vec![ScriptedTurn::tool(tool, answer).usage(2_000, 60)],
    };
    let script = ModelScript::new()
        .session([
            (agent.writes)(&env, "42\n"),
            ScriptedTurn::text("It is 42."),
        ])
        .session(judgement);
    let server = ModelServer::start(script);
    agent.connect(&env, &server);
    let out = agent
        .run(
            &env,
            &["--tier", "2", "--judge", agent.name, "--format", "json"],
        )
        .run();
    out.assert_code(0);
    let judgement = &out.json()["verification_report"]["gates"][0]["judgements"][0];
    assert_eq!(judgement["passed"], true, "{judgement}");
    assert!(
        judgement["usage"]["output"].as_u64() >= Some(agent.tokens[1].into()),
        "{judgement}"
    );
    let prompt = server.requests_of(2)[0].user_texts().concat();
    assert!(prompt.contains("+42"), "{prompt}");
    let dirs = [env.work_dir(), env.home(), env.state()];
    let found = env
        .command("find")
        .args(&dirs)
        .args(["-name", "judged.txt"]);
    assert_eq!(found.run().stdout, "", "it could write");
}
