//! Who judges: the agents that were named, or by default a model that is not the one that works.

use std::collections::BTreeMap;

use crate::model::{AgentKind, AgentSpec};
use crate::route::{RouteError, find, unknown_agent_error};

/// The built-in agent that judges unless others are named.
const DEFAULT_JUDGE: &str = "claude";
/// The models of it that judge one another, in its own words.
const DEFAULT_MODELS: [&str; 2] = ["opus", "sonnet"];

/// Why nobody can judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeConfigError {
    /// There is no such agent.
    #[error(transparent)]
    Unknown(#[from] RouteError),
    /// It does nothing but run commands.
    #[error("agent `{0}` runs commands: it cannot judge")]
    Shell(String),
}

/// The judges, in the order in which they are asked. Without a name it is Claude Code, and where that
/// works itself, another of its models.
///
/// # Errors
/// See [`JudgeConfigError`].
pub fn choose(
    named: &[String],
    agents: &BTreeMap<String, AgentSpec>,
    worker: &AgentSpec,
) -> Result<Vec<AgentSpec>, JudgeConfigError> {
    let find = |name: &str| find(name, agents).ok_or_else(|| unknown_agent_error(name, agents));
    if named.is_empty() {
        let mut judge = find(DEFAULT_JUDGE)?;
        if worker.kind == AgentKind::Claude {
            let works = worker.model.as_deref().unwrap_or_default();
            let other = DEFAULT_MODELS
                .into_iter()
                .find(|model| !works.contains(model));
            judge.model = other.map(str::to_owned);
        }
        return Ok(vec![judge]);
    }
    let judges = named.iter().map(|name| match find(name)? {
        judge if matches!(judge.kind, AgentKind::Shell | AgentKind::Mini) => {
            Err(JudgeConfigError::Shell(name.clone()))
        }
        judge => Ok(judge),
    });
    judges.collect()
}
