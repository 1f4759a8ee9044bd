//! Every agent that a registry has, for real, in the same scenarios. `cargo xtask e2e` prints what
//! came of them as the matrix of docs/agents.md, from the names of the tests.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod qwen;
mod scenarios;

use selvedge_testkit::{ModelServer, TestEnv, Turn};

/// How an agent is played with.
pub(crate) struct Played {
    /// Its name in the configuration.
    name: &'static str,
    /// Its table there, and what files it wants beside, with this server for its model.
    settings: fn(&TestEnv, &ModelServer) -> String,
    /// The model has it write this text into the file `answer`.
    writes: fn(&TestEnv, &str) -> Turn,
    /// The model has it run this command.
    runs: fn(&str) -> Turn,
    /// A silence that is longer than its start, in which it says nothing either.
    silence: &'static str,
    /// Whether it tells how often it asked its API again.
    counts_retries: bool,
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
