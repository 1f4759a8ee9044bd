//! The capabilities that a worker announces, and the reason of its quarantine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::Timestamp;

/// Capabilities of a worker. The hub offers it no other tasks; a worker that announces nothing is offered everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCapabilities {
    /// The agents in its settings whose programs are installed, and `shell` and `external`. A task that names another
    /// one is not offered; `acp:PROGRAM` is, because any program may be installed.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The folders of its machine that tasks may use or clone, without a `/` at the end. A task with another folder is
    /// not offered.
    #[serde(default)]
    pub folders: Vec<String>,
    /// The sandboxes of its agents and checks that work.
    #[serde(default)]
    pub sandboxes: Vec<String>,
    /// Why it can run no task at all, for example because a required sandbox is not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkerCapabilities {
    /// Whether it can run the agent that a task names.
    pub fn offers_agent(&self, name: &str) -> bool {
        name.starts_with("acp:") || self.agents.iter().any(|agent| agent == name)
    }

    /// Whether it can use a task's repository or workspace: everything except folders that it does not allow.
    pub fn allows_place(&self, place: &str) -> bool {
        let path = place.strip_prefix("file://").unwrap_or(place);
        let is_inside = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_folder = place.starts_with('/') || place.starts_with("file://");
        !is_folder || self.folders.iter().any(is_inside)
    }
}

/// A worker that is offered nothing for a while, because its infrastructure failed again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerQuarantine {
    /// When it ends.
    pub until: Timestamp,
    /// The reason: the number of failures, and the last one if it was in a task of the reader's project.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_decide_agents_and_folders() {
        let capabilities = WorkerCapabilities {
            agents: vec!["claude".to_owned()],
            folders: vec!["/srv/repos".to_owned()],
            ..WorkerCapabilities::default()
        };
        assert!(capabilities.offers_agent("claude") && capabilities.offers_agent("acp:own"));
        assert!(!capabilities.offers_agent("codex"));
        for allowed in [
            "/srv/repos",
            "/srv/repos/shop",
            "file:///srv/repos/shop",
            "https://git.example/shop",
            "git@git.example:shop",
        ] {
            assert!(capabilities.allows_place(allowed), "{allowed}");
        }
        for other in ["/srv/repos2", "/srv", "/", "file:///srv/other"] {
            assert!(!capabilities.allows_place(other), "{other}");
        }
        let root = WorkerCapabilities {
            folders: vec![String::new()],
            ..WorkerCapabilities::default()
        };
        assert!(root.allows_place("/srv") && root.allows_place("/"));
    }
}
