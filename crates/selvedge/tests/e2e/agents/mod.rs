//! The same scenarios with every real agent that is in a package registry. `cargo xtask e2e` derives the matrix
//! in docs/reference/agents.md from the names and results of these tests.

mod acp_codex;
mod acp_copilot;
mod acp_droid;
mod acp_gemini;
mod acp_opencode;
mod acp_qwen;
mod aider;
mod claude;
mod codex;
mod gemini;
mod mini;
mod opencode;
mod qwen;
mod scenarios;

pub(crate) use opencode::{
    config as opencode_config, skip_installation as skip_opencode_installation,
};
use selvedge_testkit::{ModelServer, ScriptedTurn, TestEnv};

/// The properties of an agent that the scenarios depend on.
pub(crate) struct TestedAgent {
    /// The agent's name in the configuration.
    name: &'static str,
    /// Returns the agent's configuration table with this server as its model, and writes the files that it
    /// needs.
    settings: fn(&TestEnv, &ModelServer) -> String,
    /// A turn in which the model makes the agent write this text into the file `answer`.
    writes: fn(&TestEnv, &str) -> ScriptedTurn,
    /// A turn in which the model makes the agent run this command.
    runs: fn(&str) -> ScriptedTurn,
    /// Turns in which the model makes the agent write a text into the file `answer` and ends with a message.
    /// They use 2,100 input tokens and 60 output tokens.
    solves: fn(&TestEnv, &str, &str) -> Vec<ScriptedTurn>,
    /// The input and output tokens that the agent reports for `solves`.
    tokens: [u32; 2],
    /// The number of tool calls in `solves`.
    calls: u32,
    /// Whether the agent reports session ids.
    names_sessions: bool,
    /// The status with which its API refuses a request for good.
    refusal: u16,
    /// An idle timeout that is longer than the agent's start, during which it prints nothing.
    idle_timeout: &'static str,
    /// Whether the agent reports how often it repeated a request.
    counts_retries: bool,
    /// How it answers as a judge.
    judgement: Judgement,
}

/// How an agent answers as a judge.
#[derive(Clone, Copy)]
pub(crate) enum Judgement {
    /// With text, after it has tried to run a command.
    AfterCommand,
    /// With text: a refused tool call would end its session.
    Text,
    /// By calling this tool.
    Tool(&'static str),
}

/// The turns of an agent that writes with a tool and ends when the model calls none.
fn solves(write: ScriptedTurn, message: &str) -> Vec<ScriptedTurn> {
    vec![
        write.usage(1_000, 50),
        ScriptedTurn::text(message).usage(1_100, 10),
    ]
}

/// Defines a test for each scenario that the agent supports.
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
