//! The stop gate in every real agent that can be run with a scripted model: the agent is set up by `selvedge install`
//! and started directly, as its user would. `cargo xtask e2e` derives the matrix of the gate in
//! docs/reference/agents.md from the names and results of these tests.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod qwen;
mod scenarios;

use selvedge_testkit::{Invocation, ModelServer, ScriptedTurn, SpawnedProgram, TestEnv};

/// An agent, and how its user starts it.
pub(crate) struct GatedAgent {
    /// Its name for `selvedge install`.
    name: &'static str,
    /// Options of `selvedge install`.
    scope: &'static [&'static str],
    /// Writes other files that the agent needs, and starts its server if it has one.
    prepare: fn(&TestEnv, &ModelServer) -> Option<AgentServer>,
    /// Starts a session with this prompt, without a terminal.
    start: fn(&GateScene<'_>, &str) -> Invocation,
    /// A turn in which the model makes the agent run this command.
    runs: fn(&str) -> ScriptedTurn,
}

/// A server of the agent's program, which ends when it is dropped.
pub(crate) struct AgentServer {
    _program: SpawnedProgram,
    url: String,
}

/// The requirements of a session.
pub(crate) struct GateScene<'a> {
    env: &'a TestEnv,
    server: &'a ModelServer,
    agent_server: Option<AgentServer>,
}

/// Defines a test for each scenario.
macro_rules! plays {
    ($agent:ident: $($scenario:ident),+ $(,)?) => {
        $(
            #[test]
            fn $scenario() {
                super::scenarios::$scenario(&$agent);
            }
        )+
    };
}
use plays;
