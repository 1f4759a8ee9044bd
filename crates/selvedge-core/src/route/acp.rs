//! `acp:PROGRAM`: an agent that needs no table of its own, for its program speaks the Agent Client
//! Protocol. How the programs that are known are asked for that stands here; any other is started as it
//! is. What an agent of the program's name is configured with holds for it too.

use std::collections::BTreeMap;

use crate::model::{AgentKind, AgentSpec};

/// What stands before the program's name.
const SCHEME: &str = "acp:";

/// How programs are started that speak it when asked to, by the names people use.
const KNOWN_PROGRAMS: &[(&str, &[&str])] = &[
    ("claude", &["claude-agent-acp"]),
    ("codex", &["codex-acp"]),
    ("copilot", &["copilot", "--acp"]),
    ("gemini", &["gemini", "--acp"]),
    ("goose", &["goose", "acp"]),
    ("opencode", &["opencode", "acp"]),
    ("qwen", &["qwen", "--acp"]),
];

/// The agent of such a name. A program is a bare word: where it is and what else it is told is a matter
/// of configuration.
pub(super) fn find_acp_agent(
    name: &str,
    agents: &BTreeMap<String, AgentSpec>,
) -> Option<AgentSpec> {
    let program = name.strip_prefix(SCHEME)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !program.starts_with(|c: char| c.is_ascii_alphanumeric()) || !program.chars().all(is_plain) {
        return None;
    }
    let known = KNOWN_PROGRAMS.iter().find(|(known, _)| *known == program);
    let mut words: Vec<String> = match known {
        Some((_, words)) => words.iter().map(|&word| word.to_owned()).collect(),
        None => vec![program.to_owned()],
    };
    let configured = agents.get(program);
    // An adapter is another program than the one that it adapts.
    let is_itself = words.first().is_some_and(|word| word == program);
    let place = configured.map(|agent| &agent.program);
    if let Some(place) = place.filter(|place| is_itself && !place.is_empty()) {
        words.splice(..1, place.iter().cloned());
    }
    let own = configured.cloned();
    Some(AgentSpec {
        name: name.to_owned(),
        kind: AgentKind::Acp,
        program: words,
        model: own.as_ref().and_then(|agent| agent.model.clone()),
        base_url: None,
        env: own
            .as_ref()
            .map(|agent| agent.env.clone())
            .unwrap_or_default(),
        env_from: own
            .as_ref()
            .map(|agent| agent.env_from.clone())
            .unwrap_or_default(),
        api_retries: AgentKind::Acp.capabilities().api_retries,
        deterministic: false,
        prompt_as_argument: false,
        server_by_repository: false,
        effort: own.as_ref().and_then(|agent| agent.effort.clone()),
        max_turns: None,
        price: own.as_ref().and_then(|agent| agent.price),
    })
}
