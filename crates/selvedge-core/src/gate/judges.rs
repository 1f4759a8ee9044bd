//! Selects the judges: the named agents, or by default a model that is not the one that does the work.

use std::collections::BTreeMap;

use crate::model::{AgentKind, AgentSpec};
use crate::route::{RouteError, find, unknown_agent_error};

/// The built-in agent that judges by default.
const DEFAULT_JUDGE: &str = "claude";
/// Its models that judge each other's work, by its own names.
const DEFAULT_MODELS: [&str; 2] = ["opus", "sonnet"];

/// Why no judge is available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeConfigError {
    /// There is no such agent.
    #[error(transparent)]
    Unknown(#[from] RouteError),
    /// It can only run commands.
    #[error("agent `{0}` runs commands and cannot be a judge")]
    Shell(String),
}

/// The judges, in the order in which they are asked. The default is Claude Code; if that also does the work, a
/// different one of its models.
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
