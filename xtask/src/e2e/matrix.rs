//! The matrix of agents and scenarios, parsed from the output of the test runner:
//! `agents::codex::killed … ok`. `docs/reference/agents.md` contains it too; a full run of the suite fails if the
//! two differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The scenarios: test name and title.
const SCENARIOS: [(&str, &str); 8] = [
    ("success", "success"),
    ("fail_then_fix", "fail, then fix"),
    ("turn_limit", "turn limit"),
    ("refused", "API refuses"),
    ("overloaded", "API overloaded"),
    ("killed", "kill -9, resume"),
    ("hang", "hang"),
    ("judge", "as a judge"),
];

/// Whether each scenario passed with each agent.
#[derive(Debug, Default)]
pub(super) struct AgentMatrix(BTreeMap<(String, String), bool>);

impl AgentMatrix {
    /// Reads one line of the test runner's output.
    pub(super) fn read_line(&mut self, line: &str) {
        let Some((name, outcome)) = line
            .strip_prefix("test agents::")
            .and_then(|rest| rest.split_once(" ... "))
        else {
            return;
        };
        if let Some((agent, scenario)) = name.split_once("::") {
            let key = (agent.replace('_', "-"), scenario.to_owned());
            self.0.insert(key, outcome.trim() == "ok");
        }
    }

    /// The scenarios in which an agent failed.
    pub(super) fn failures(&self, agent: &str) -> Vec<String> {
        let of_agent = self
            .0
            .iter()
            .filter(|((name, _), ok)| name == agent && !**ok);
        of_agent
            .map(|((name, scenario), _)| format!("{name}::{scenario}"))
            .collect()
    }

    /// Whether any scenario of an agent was run.
    pub(super) fn has_agent(&self, agent: &str) -> bool {
        self.0.keys().any(|(name, _)| name == agent)
    }

    /// Formats the matrix as a Markdown table; none if no agent was tested.
    pub(super) fn to_markdown(&self) -> Option<String> {
        let agents: BTreeSet<_> = self.0.keys().map(|(agent, _)| agent).collect();
        let heads = SCENARIOS.map(|(_, title)| title).join(" | ");
        let mut table = format!(
            "| agent | {heads} |\n|---{}|\n",
            "|---".repeat(SCENARIOS.len())
        );
        for agent in &agents {
            let cell = |scenario: &str| {
                let outcome = self.0.get(&((*agent).clone(), scenario.to_owned()));
                outcome.map_or("–", |&ok| if ok { "✓" } else { "✗" })
            };
            let cells = SCENARIOS.map(|(scenario, _)| cell(scenario)).join(" | ");
            // Writing to a string cannot fail.
            let _ = writeln!(table, "| `{agent}` | {cells} |");
        }
        (!agents.is_empty()).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_is_built_from_test_names() {
        let mut matrix = AgentMatrix::default();
        for line in [
            "running 9 tests",
            "test agents::codex::success ... ok",
            "test agents::codex::hang ... FAILED",
            "test agents::mini_swe::success ... ok",
            "test reports::success ... ok",
        ] {
            matrix.read_line(line);
        }
        let table = matrix.to_markdown().unwrap();
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expect = [
            "| `codex` | ✓ | – | – | – | – | – | ✗ | – |",
            "| `mini-swe` | ✓ | – | – | – | – | – | – | – |",
        ];
        assert_eq!(rows, expect);
        assert_eq!(matrix.failures("codex"), ["codex::hang"]);
        assert!(matrix.has_agent("mini-swe") && !matrix.has_agent("gemini"));
        assert_eq!(AgentMatrix::default().to_markdown(), None);
    }
}
