//! Every agent that a registry has, for real, in the same scenarios. `cargo xtask e2e` prints what
//! came of them as the matrix of docs/agents.md, from the names of the tests.

mod acp_gemini;
mod acp_opencode;
mod aider;
mod claude;
mod codex;
mod gemini;
mod mini;
mod opencode;
mod qwen;
mod scenarios;

use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};

/// How an agent is played with.
pub(crate) struct TestedAgent {
    /// Its name in the configuration.
    name: &'static str,
    /// Its table there, and what files it wants beside, with this server for its model.
    settings: fn(&TestEnv, &ModelServer) -> String,
    /// The model has it write this text into the file `answer`.
    writes: fn(&TestEnv, &str) -> ScriptedTurn,
    /// The model has it run this command.
    runs: fn(&str) -> ScriptedTurn,
    /// The model has it write a text into the file `answer`, then says this and is done; for 2,100 tokens in
    /// and 60 out.
    solves: fn(&TestEnv, &str, &str) -> Vec<ScriptedTurn>,
    /// The tokens that it tells of.
    tokens: [u32; 2],
    /// How often it calls a tool for that.
    calls: u32,
    /// Whether its sessions have names.
    names_sessions: bool,
    /// How its API refuses what it will never do.
    refusal: u16,
    /// A silence that is longer than its start, in which it says nothing either.
    silence: &'static str,
    /// Whether it tells how often it asked its API again.
    counts_retries: bool,
}

/// The usual way, for an agent whose tool does it and that is done when the model calls none.
fn solves(write: ScriptedTurn, said: &str) -> Vec<ScriptedTurn> {
    vec![
        write.usage(1_000, 50),
        ScriptedTurn::text(said).usage(1_100, 10),
    ]
}

/// A test for each scenario that an agent is played in.
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
