//! Selects the agent of a task.
//!
//! Pure and total: the same task and agents always give the same result. An unknown name is an error with a suggestion,
//! never a silent fallback to a different agent, which might cost money that the user did not intend to spend.

mod acp;

use std::collections::BTreeMap;

use crate::config::nearest;
use crate::model::{AgentKind, AgentSpec, ComplexityTier, Task};

/// The built-in agent that runs the task's own command.
pub const SHELL_AGENT: &str = "shell";

/// The built-in agent that does nothing: another program has left its work in the workspace, which is verified once.
pub const EXTERNAL_AGENT: &str = "external";

/// The name that older clients use for the shell in `routing_decision.target_type`.
const LEGACY_SHELL_TARGET: &str = "sidecar";

/// Why no agent was selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No agent with this name is configured.
    #[error("no agent is named `{name}`{}; known are {}", did_you_mean(nearest.as_deref()), known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// All valid names, sorted.
        known: Vec<String>,
        /// The most similar valid name, if any is similar.
        nearest: Option<String>,
    },
    /// The task is routed to the shell, but has no command.
    #[error("the task is routed to the shell, but has no `command`")]
    NoCommand,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" (did you mean `{name}`?)"))
        .unwrap_or_default()
}

/// The agents that a task names, each with the field that names it; the first one is used. All code that reads these
/// fields uses this function, because it translates the names of older clients.
pub fn named_agents(task: &Task) -> impl Iterator<Item = (&'static str, &str)> {
    let agent = task.agent.as_deref().map(|name| ("agent", name.trim()));
    let decision = task.routing_decision.as_ref();
    let decision = decision.map(|decision| {
        let name = match decision.target_type.trim() {
            LEGACY_SHELL_TARGET => SHELL_AGENT,
            name => name,
        };
        ("routing_decision.target_type", name)
    });
    let named = [agent, decision].into_iter().flatten();
    named.filter(|(_, name)| !name.is_empty())
}

/// The requested agent of a task; `None` for the default one. In this order: the task's `agent`, its
/// `routing_decision`, the shell for a `trivial` task (or one without a description) that has a `command`.
pub fn requested_agent(task: &Task) -> Option<&str> {
    let named = named_agents(task).map(|(_, name)| name).next();
    named.or_else(|| is_shell_task(task).then_some(SHELL_AGENT))
}

/// Selects the agent: the requested one, or else `default`.
pub fn route(
    task: &Task,
    agents: &BTreeMap<String, AgentSpec>,
    default: &str,
) -> Result<AgentSpec, RouteError> {
    let name = requested_agent(task).unwrap_or(default);
    match find(name, agents) {
        Some(agent) if agent.kind == AgentKind::Shell => with_command(agent, task),
        Some(agent) => Ok(agent),
        None if name == SHELL_AGENT => with_command(shell(), task),
        None if name == EXTERNAL_AGENT => Ok(external()),
        None => Err(unknown_agent_error(name, agents)),
    }
}

/// Finds an agent by name: a configured one, or a program that supports the Agent Client Protocol (`acp:PROGRAM`).
pub(crate) fn find(name: &str, agents: &BTreeMap<String, AgentSpec>) -> Option<AgentSpec> {
    let configured = agents.get(name).cloned();
    configured.or_else(|| acp::find_acp_agent(name, agents))
}

fn is_shell_task(task: &Task) -> bool {
    let nothing_to_describe = task.description.trim().is_empty();
    task_command(task).is_some()
        && (nothing_to_describe || task.complexity_tier == Some(ComplexityTier::Trivial))
}

fn task_command(task: &Task) -> Option<&str> {
    task.command
        .as_deref()
        .filter(|command| !command.trim().is_empty())
}

fn shell() -> AgentSpec {
    AgentSpec {
        name: SHELL_AGENT.to_owned(),
        kind: AgentKind::Shell,
        program: Vec::new(),
        model: None,
        base_url: None,
        env: BTreeMap::new(),
        env_from: BTreeMap::new(),
        api_retries: 0,
        deterministic: true,
        prompt_as_argument: false,
        server_by_repository: false,
        effort: None,
        max_turns: None,
        price: None,
    }
}

fn external() -> AgentSpec {
    AgentSpec {
        name: EXTERNAL_AGENT.to_owned(),
        kind: AgentKind::External,
        ..shell()
    }
}

/// The agent of a session that its user started, which is verified by Selvedge's stop gate.
pub fn session_agent(name: &str) -> AgentSpec {
    AgentSpec {
        name: name.to_owned(),
        deterministic: false,
        ..external()
    }
}

/// Sets the task's command line as the shell's argument. The description is never executed.
fn with_command(agent: AgentSpec, task: &Task) -> Result<AgentSpec, RouteError> {
    let command = task_command(task).ok_or(RouteError::NoCommand)?;
    let program = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    Ok(AgentSpec {
        program,
        deterministic: true,
        ..agent
    })
}

pub(crate) fn unknown_agent_error(name: &str, agents: &BTreeMap<String, AgentSpec>) -> RouteError {
    let mut known: Vec<String> = agents
        .keys()
        .cloned()
        .chain([SHELL_AGENT, EXTERNAL_AGENT].map(str::to_owned))
        .collect();
    known.sort();
    known.dedup();
    let nearest =
        nearest(&name.to_lowercase(), known.iter().map(String::as_str)).map(str::to_owned);
    RouteError::Unknown {
        name: name.to_owned(),
        known,
        nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RoutingDecision;

    fn agents() -> BTreeMap<String, AgentSpec> {
        let agent = |name: &str, kind| AgentSpec {
            name: name.to_owned(),
            kind,
            ..shell()
        };
        [
            agent("claude", AgentKind::Claude),
            agent("ollama", AgentKind::Ollama),
            agent("aider", AgentKind::Command),
        ]
        .into_iter()
        .map(|agent| (agent.name.clone(), agent))
        .collect()
    }

    fn task() -> Task {
        Task {
            description: "mend it".into(),
            ..Task::default()
        }
    }

    #[track_caller]
    fn check(task: &Task, expect: &str) {
        let routed = route(task, &agents(), "claude");
        assert_eq!(
            routed.map(|agent| agent.name).as_deref(),
            Ok(expect),
            "{task:?}"
        );
    }

    fn decided(target: &str, task: &Task) -> Task {
        let target_type = target.to_owned();
        Task {
            routing_decision: Some(RoutingDecision { target_type }),
            ..task.clone()
        }
    }

    #[test]
    fn route_precedence() {
        let trivial = Task {
            command: Some("make".into()),
            complexity_tier: Some(ComplexityTier::Trivial),
            ..task()
        };
        let described = |tier, command: Option<&str>| Task {
            complexity_tier: tier,
            command: command.map(str::to_owned),
            ..task()
        };
        check(&task(), "claude");
        check(&described(Some(ComplexityTier::Complex), None), "claude");
        check(&described(Some(ComplexityTier::Trivial), None), "claude");
        check(&described(None, Some("make")), "claude");
        check(&trivial, SHELL_AGENT);
        let nothing_else = Task {
            description: " ".into(),
            ..described(None, Some("make"))
        };
        check(&nothing_else, SHELL_AGENT);
        check(&decided("ollama", &trivial), "ollama");
        let described_command = described(None, Some("make"));
        check(&decided("sidecar", &described_command), SHELL_AGENT);
        check(&decided(" sidecar ", &described_command), SHELL_AGENT);
        check(&decided(" ", &trivial), SHELL_AGENT);
        let both = Task {
            agent: Some("aider".into()),
            ..decided("nobody", &trivial)
        };
        check(&both, "aider");
    }

    #[test]
    fn route_shell_runs_command_only() {
        let task = Task {
            description: "rm -rf /".into(),
            command: Some("make 'all of it'".into()),
            agent: Some(SHELL_AGENT.into()),
            ..Task::default()
        };
        let agent = route(&task, &agents(), "claude").unwrap();
        assert_eq!(agent.program, ["sh", "-c", "make 'all of it'"]);
        assert!(agent.deterministic);
        let blank = Task {
            command: Some("  ".into()),
            ..task
        };
        assert_eq!(
            route(&blank, &agents(), "claude"),
            Err(RouteError::NoCommand)
        );
    }

    #[test]
    fn route_unknown_name_lists_known_ones() {
        let ask = |name: &str| {
            let task = Task {
                agent: Some(name.into()),
                ..task()
            };
            route(&task, &agents(), "claude").unwrap_err().to_string()
        };
        assert_eq!(
            ask("Cluade"),
            "no agent is named `Cluade` (did you mean `claude`?); \
             known are aider, claude, external, ollama, shell"
        );
        assert!(
            !ask("sidecar").contains("did you mean"),
            "{}",
            ask("sidecar")
        );
    }

    #[test]
    fn route_external_needs_no_command() {
        let task = Task {
            agent: Some(EXTERNAL_AGENT.into()),
            ..task()
        };
        let agent = route(&task, &agents(), "claude").unwrap();
        assert_eq!(agent.kind, AgentKind::External);
        assert!(agent.deterministic);
    }

    #[test]
    fn route_unconfigured_default_is_an_error() {
        let error = route(&task(), &BTreeMap::new(), "claude").unwrap_err();
        assert!(matches!(error, RouteError::Unknown { .. }));
    }

    #[test]
    fn route_acp_program_needs_no_configuration() {
        let mut agents = agents();
        let program = |name: &str, agents: &_| find(name, agents).map(|agent| agent.program);
        assert_eq!(program("acp:gemini", &agents).unwrap(), ["gemini", "--acp"]);
        assert_eq!(program("acp:my-agent", &agents).unwrap(), ["my-agent"]);
        let agent = find("acp:claude", &agents).unwrap();
        assert_eq!(agent.kind, AgentKind::Acp);
        assert_eq!(agent.program, ["claude-agent-acp"]);
        for refused in ["acp:", "acp:/bin/sh", "acp:sh -c x", "acp:-x", "acp"] {
            assert_eq!(program(refused, &agents), None, "{refused}");
        }
        let mut qwen = agents.get("ollama").unwrap().clone();
        qwen.program = vec!["/opt/qwen".to_owned()];
        qwen.env.insert("KEY".to_owned(), "x".to_owned());
        agents.insert("qwen".to_owned(), qwen);
        let agent = find("acp:qwen", &agents).unwrap();
        assert_eq!(agent.program, ["/opt/qwen", "--acp"]);
        assert!(agent.env.contains_key("KEY"));
        // A configured agent that speaks the protocol is started as configured.
        agents.insert("goose".to_owned(), agent);
        let agent = find("acp:goose", &agents).unwrap();
        assert_eq!(agent.program, ["/opt/qwen", "--acp"]);
        assert_eq!(agent.name, "acp:goose");
    }
}
