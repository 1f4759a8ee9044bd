//! The scenarios of every agent.

use selvedge_testkit::{
    CommandOutput, ModelScript, ModelServer, ScriptedTurn, TestEnv, wait_until,
};
use serde_json::Value;

use super::{GateScene, GatedAgent};
use crate::fixtures::env_with_repo;

const PROMPT: &str = "Extend the answer in the file `answer`.";

/// A project whose check passes while `answer` contains 42.
fn project() -> TestEnv {
    let env = env_with_repo();
    env.write("answer", "42\n");
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer\"\n",
    );
    env.commit("Add a check");
    env
}

impl GatedAgent {
    fn install(&self, env: &TestEnv) {
        let fixed = ["install", self.name];
        let install = env.selvedge(fixed.iter().chain(self.scope));
        install.env("PATH", path_with_agents()).run().assert_code(0);
    }

    /// Sets the agent up.
    fn set_up<'a>(&self, env: &'a TestEnv, server: &'a ModelServer) -> GateScene<'a> {
        self.install(env);
        GateScene {
            env,
            server,
            agent_server: (self.prepare)(env, server),
        }
    }

    /// Runs a session until it is over and `is_settled` holds: a client of a server may end before its session.
    fn play(
        &self,
        scene: &GateScene<'_>,
        prompt: &str,
        is_settled: impl Fn() -> bool,
    ) -> CommandOutput {
        let out = (self.start)(scene, prompt).run();
        out.assert_code(0);
        wait_until("the session has ended", is_settled);
        out
    }

    /// A turn that writes a file.
    fn writes(&self, text: &str, file: &str) -> ScriptedTurn {
        (self.runs)(&format!("printf '%s\\n' '{text}' > {file}"))
    }
}

/// The search path with the agents' programs.
fn path_with_agents() -> std::ffi::OsString {
    let agents = std::env::var_os(crate::fixtures::PROGRAMS).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&agents).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

/// The runs in the journal, newest first.
fn runs(env: &TestEnv) -> Vec<Value> {
    let list = env.selvedge(["list", "--format", "jsonl"]).run();
    if list.code == 0 {
        list.jsonl()
    } else {
        Vec::new()
    }
}

fn has_ended(env: &TestEnv, count: usize) -> bool {
    let runs = runs(env);
    runs.len() == count && runs.iter().all(|run| run["outcome"].is_string())
}

fn show(env: &TestEnv) -> Value {
    env.selvedge(["show", "--format", "json"]).run().json()
}

fn sent_to_model(server: &ModelServer) -> String {
    let requests = server.requests();
    requests.iter().map(|it| it.body.to_string()).collect()
}

/// The work passes: the agent stops at once, and the run is in the journal.
pub(super) fn pass(agent: &GatedAgent) {
    let env = project();
    let server = ModelServer::start([
        agent.writes("42 and more", "answer"),
        ScriptedTurn::text("It is extended."),
    ]);
    let scene = agent.set_up(&env, &server);
    agent.play(&scene, PROMPT, || has_ended(&env, 1));
    assert_eq!(server.turns_left(), 0);
    let shown = show(&env);
    assert_eq!(shown["result"]["outcome"], "verified", "{shown}");
    assert_eq!(shown["result"]["verification_attempts"], 1);
    let details = env.selvedge(["show"]).run();
    assert!(details.stdout.contains(PROMPT), "{details}");
}

/// The work fails: the agent continues with the digest until it passes.
pub(super) fn fail_then_fix(agent: &GatedAgent) {
    let env = project();
    let server = ModelServer::start([
        agent.writes("41", "answer"),
        ScriptedTurn::text("It is extended."),
        agent.writes("42 again", "answer"),
        ScriptedTurn::text("It is fixed."),
    ]);
    let scene = agent.set_up(&env, &server);
    agent.play(&scene, PROMPT, || has_ended(&env, 1));
    assert_eq!(server.turns_left(), 0);
    assert!(sent_to_model(&server).contains("VERIFICATION RETRY 1/3"));
    let shown = show(&env);
    assert_eq!(shown["result"]["outcome"], "verified", "{shown}");
    assert_eq!(shown["result"]["verification_attempts"], 2);
}

/// The agent fixes nothing: it is let go after a bounded number of refusals.
pub(super) fn give_up(agent: &GatedAgent) {
    let env = project();
    let text = |number: usize| ScriptedTurn::text(format!("It is extended, {number}."));
    let turns = [
        vec![agent.writes("41", "answer")],
        (1..=5).map(text).collect(),
    ]
    .concat();
    let server = ModelServer::start(ModelScript::new().session(turns));
    let scene = agent.set_up(&env, &server);
    agent.play(&scene, PROMPT, || has_ended(&env, 1));
    let shown = show(&env);
    assert_eq!(shown["result"]["outcome"], "stuck", "{shown}");
    let attempts = shown["result"]["verification_attempts"].as_u64().unwrap();
    let used = 6 - server.turns_left();
    assert_eq!(
        u64::try_from(used).unwrap(),
        attempts + 1,
        "one turn for each refusal"
    );
    assert_eq!(env.read("answer"), "41\n", "nothing is reverted");
}

/// The gate itself fails: the agent is let go.
pub(super) fn crash(agent: &GatedAgent) {
    let env = project();
    let server = ModelServer::start([
        agent.writes("41", "answer"),
        ScriptedTurn::text("It is extended."),
    ]);
    agent.install(&env);
    // Its state directory cannot be created.
    std::fs::remove_dir_all(env.state().join("selvedge")).unwrap_or_default();
    std::fs::create_dir_all(env.state()).unwrap();
    std::fs::write(env.state().join("selvedge"), "no folder").unwrap();
    let scene = GateScene {
        env: &env,
        server: &server,
        agent_server: (agent.prepare)(&env, &server),
    };
    agent.play(&scene, PROMPT, || server.turns_left() == 0);
    assert_eq!(env.read("answer"), "41\n");
}

/// The project has no checks: the gate does nothing.
pub(super) fn no_checks(agent: &GatedAgent) {
    let env = project();
    std::fs::remove_file(env.work_dir().join("selvedge.toml")).unwrap();
    env.commit("Remove the checks");
    let server = ModelServer::start([
        agent.writes("41", "answer"),
        ScriptedTurn::text("It is extended."),
    ]);
    let scene = agent.set_up(&env, &server);
    agent.play(&scene, PROMPT, || server.turns_left() == 0);
    assert!(runs(&env).is_empty());
}

/// Two sessions at once in one directory have a run each.
pub(super) fn two_sessions(agent: &GatedAgent) {
    let env = project();
    let script = ModelScript::new()
        .session([
            agent.writes("42 and more", "answer"),
            ScriptedTurn::text("It is extended."),
        ])
        .session([
            agent.writes("a note", "notes"),
            ScriptedTurn::text("It is noted."),
        ]);
    let server = ModelServer::start(script);
    let scene = agent.set_up(&env, &server);
    let sessions = ["First: extend the answer.", "Second: write a note."];
    let started = sessions.map(|prompt| (agent.start)(&scene, prompt).spawn());
    for session in started {
        session.wait().assert_code(0);
    }
    wait_until("both sessions have ended", || has_ended(&env, 2));
    let runs = runs(&env);
    assert!(
        runs.iter().all(|run| run["outcome"] == "verified"),
        "{runs:?}"
    );
    let tasks = format!("{runs:?}");
    for prompt in sessions {
        assert!(tasks.contains(prompt), "{prompt} {tasks}");
    }
}
