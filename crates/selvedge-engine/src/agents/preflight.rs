//! Checks whether an agent's program is installed, before anything is run or paid for.

use std::ffi::OsStr;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use selvedge_core::model::{AgentKind, AgentSpec};

use super::env;
use super::ollama::Endpoint;
use crate::process::find_program;

/// How to install the most common programs.
const INSTALL_HINTS: &[(&str, &str)] = &[
    ("claude", "npm install -g @anthropic-ai/claude-code"),
    ("codex", "npm install -g @openai/codex"),
    ("gemini", "npm install -g @google/gemini-cli"),
    ("qwen", "npm install -g @qwen-code/qwen-code"),
    ("opencode", "npm install -g opencode-ai"),
    ("cursor-agent", "see https://cursor.com/cli"),
    ("amp", "npm install -g @ampcode/cli"),
    ("droid", "npm install -g @factory/cli"),
    (
        "claude-agent-acp",
        "npm install -g @agentclientprotocol/claude-agent-acp",
    ),
    ("codex-acp", "npm install -g @agentclientprotocol/codex-acp"),
    ("copilot", "npm install -g @github/copilot"),
    ("goose", "see https://block.github.io/goose"),
    ("aider", "pipx install aider-chat"),
    ("mini", "pipx install mini-swe-agent"),
    ("ollama", "see https://ollama.com/download"),
];

/// A local server answers immediately or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// An agent cannot run: its program is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent `{agent}` needs the program `{program}`, which was not found{}", format_hint(install_hint.as_deref()))]
pub struct ProgramNotFoundError {
    /// The agent's name.
    pub agent: String,
    /// Its program.
    pub program: String,
    /// A command or an address, if known.
    pub install_hint: Option<String>,
}

fn format_hint(how: Option<&str>) -> String {
    how.map(|how| format!("; to install it: {how}"))
        .unwrap_or_default()
}

/// Looks up the program of an agent that works in `workspace`, with the agent's own environment.
pub fn check_program(agent: &AgentSpec, workspace: &Path) -> Result<(), ProgramNotFoundError> {
    let environment = env::agent_env(agent, &env::host_env());
    let path = environment
        .get(OsStr::new("PATH"))
        .map(AsRef::as_ref)
        .unwrap_or_default();
    let is_there = |program: &str| find_program(program, path, workspace).is_some();
    let program = match agent.kind {
        // Only the server is needed; the program matters only if it has to run on this machine.
        AgentKind::Ollama if is_served_elsewhere(agent) => return Ok(()),
        AgentKind::Ollama => "ollama",
        // Selvedge itself calls the API; only the server can validate the key.
        AgentKind::Api => return Ok(()),
        kind => match (agent.program.first(), kind) {
            (Some(program), _) => program,
            // An agent without a program is rejected when it runs.
            (None, AgentKind::Command | AgentKind::Shell | AgentKind::External) => return Ok(()),
            (None, kind) => kind.name(),
        },
    };
    if is_there(program) {
        return Ok(());
    }
    let name = Path::new(program)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or(program);
    let known = INSTALL_HINTS.iter().find(|(known, _)| *known == name);
    Err(ProgramNotFoundError {
        agent: agent.name.clone(),
        program: program.to_owned(),
        install_hint: known.map(|(_, how)| (*how).to_owned()),
    })
}

fn is_served_elsewhere(agent: &AgentSpec) -> bool {
    let Ok(endpoint) = Endpoint::for_agent(agent) else {
        return true;
    };
    !endpoint.is_local() || is_listening(&endpoint)
}

fn is_listening(endpoint: &Endpoint) -> bool {
    let addresses = endpoint.host_and_port().to_socket_addrs();
    addresses.is_ok_and(|mut addresses| {
        addresses.any(|address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok())
    })
}
