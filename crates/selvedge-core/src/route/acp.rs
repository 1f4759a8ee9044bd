//! `acp:PROGRAM`: an agent that needs no configuration, because its program supports the Agent Client Protocol. This
//! module has the arguments that known programs need for it; other programs are started without arguments. The
//! configuration of an agent with the program's name also applies.

use std::collections::BTreeMap;

use crate::model::{AgentKind, AgentSpec};

/// The prefix of the program's name.
const SCHEME: &str = "acp:";

/// Known programs with the command lines that start the protocol, by their usual names.
const KNOWN_PROGRAMS: &[(&str, &[&str])] = &[
    ("claude", &["claude-agent-acp"]),
    ("codex", &["codex-acp"]),
    ("gemini", &["gemini", "--acp"]),
    ("opencode", &["opencode", "acp"]),
    ("qwen", &["qwen", "--acp"]),
];

/// Creates the agent for such a name. The program must be a single plain word: its path and arguments require a
/// configured agent.
pub(super) fn find_acp_agent(
    name: &str,
    agents: &BTreeMap<String, AgentSpec>,
) -> Option<AgentSpec> {
    let program = name.strip_prefix(SCHEME)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !program.starts_with(|c: char| c.is_ascii_alphanumeric()) || !program.chars().all(is_plain) {
        return None;
    }
    let configured = agents.get(program);
    if let Some(agent) = configured.filter(|agent| agent.kind == AgentKind::Acp) {
        return Some(AgentSpec {
            name: name.to_owned(),
            ..agent.clone()
        });
    }
    let known = KNOWN_PROGRAMS.iter().find(|(known, _)| *known == program);
    let mut words: Vec<String> = match known {
        Some((_, words)) => words.iter().map(|&word| word.to_owned()).collect(),
        None => vec![program.to_owned()],
    };
    // An adapter is a different program than the one that it adapts.
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
        base_url: own.as_ref().and_then(|agent| agent.base_url.clone()),
        env: own
            .as_ref()
            .map(|agent| agent.env.clone())
            .unwrap_or_default(),
        env_from: own
            .as_ref()
            .map(|agent| agent.env_from.clone())
            .unwrap_or_default(),
        api_retries: own
            .as_ref()
            .map_or(AgentKind::Acp.capabilities().api_retries, |agent| {
                agent.api_retries
            }),
        deterministic: false,
        prompt_as_argument: false,
        server_by_repository: own.as_ref().is_some_and(|agent| agent.server_by_repository),
        effort: own.as_ref().and_then(|agent| agent.effort.clone()),
        max_turns: None,
        price: own.as_ref().and_then(|agent| agent.price),
    })
}
