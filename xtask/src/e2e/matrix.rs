//! Matrices of agents and scenarios, parsed from the output of the test runner: `agents::codex::killed … ok`.
//! `docs/reference/agents.md` contains them too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A module of the suite whose tests form a matrix.
#[derive(Debug)]
pub(super) struct MatrixLayout {
    /// The module.
    pub(super) module: &'static str,
    /// The scenarios: test name and title.
    scenarios: &'static [(&'static str, &'static str)],
}

/// Scenarios of agents that Selvedge runs.
pub(super) const AGENTS: MatrixLayout = MatrixLayout {
    module: "agents",
    scenarios: &[
        ("success", "success"),
        ("fail_then_fix", "fail, then fix"),
        ("turn_limit", "turn limit"),
        ("refused", "API refuses"),
        ("overloaded", "API overloaded"),
        ("killed", "kill -9, resume"),
        ("hang", "hang"),
        ("judge", "as a judge"),
    ],
};

/// Scenarios of agents that their users start.
pub(super) const GATE: MatrixLayout = MatrixLayout {
    module: "gate",
    scenarios: &[
        ("pass", "pass"),
        ("fail_then_fix", "fail, then fix"),
        ("give_up", "give up"),
        ("crash", "the gate fails"),
        ("no_checks", "no checks"),
        ("two_sessions", "two sessions at once"),
    ],
};

/// Whether each scenario passed with each agent.
#[derive(Debug)]
pub(super) struct AgentMatrix {
    layout: MatrixLayout,
    results: BTreeMap<(String, String), bool>,
}

impl AgentMatrix {
    pub(super) fn new(layout: MatrixLayout) -> Self {
        Self {
            layout,
            results: BTreeMap::new(),
        }
    }

    /// Reads one line of the test runner's output.
    pub(super) fn read_line(&mut self, line: &str) {
        let Some((name, outcome)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_prefix(self.layout.module))
            .and_then(|rest| rest.strip_prefix("::"))
            .and_then(|rest| rest.split_once(" ... "))
        else {
            return;
        };
        if let Some((agent, scenario)) = name.split_once("::") {
            let key = (agent.replace('_', "-"), scenario.to_owned());
            self.results.insert(key, outcome.trim() == "ok");
        }
    }

    /// The scenarios in which an agent failed.
    pub(super) fn failures(&self, agent: &str) -> Vec<String> {
        let of_agent = self
            .results
            .iter()
            .filter(|((name, _), ok)| name == agent && !**ok);
        of_agent
            .map(|((name, scenario), _)| format!("{name}::{scenario}"))
            .collect()
    }

    /// Whether any scenario of an agent was run.
    pub(super) fn has_agent(&self, agent: &str) -> bool {
        self.results.keys().any(|(name, _)| name == agent)
    }

    /// Whether every scenario ran with every agent of the matrix, of which there are at least `agents`.
    pub(super) fn is_complete(&self, agents: usize) -> bool {
        let found = self.agents();
        found.len() >= agents && self.results.len() == found.len() * self.layout.scenarios.len()
    }

    fn agents(&self) -> BTreeSet<&String> {
        self.results.keys().map(|(agent, _)| agent).collect()
    }

    /// Formats the matrix as a Markdown table; none if no agent was tested.
    pub(super) fn to_markdown(&self) -> Option<String> {
        let (agents, scenarios) = (self.agents(), self.layout.scenarios);
        let heads: Vec<_> = scenarios.iter().map(|(_, title)| *title).collect();
        let mut table = format!(
            "| agent | {} |\n|---{}|\n",
            heads.join(" | "),
            "|---".repeat(scenarios.len())
        );
        for agent in &agents {
            let cell = |scenario: &str| {
                let outcome = self.results.get(&((*agent).clone(), scenario.to_owned()));
                outcome.map_or("–", |&ok| if ok { "✓" } else { "✗" })
            };
            let cells: Vec<_> = scenarios
                .iter()
                .map(|(scenario, _)| cell(scenario))
                .collect();
            // Writing to a string cannot fail.
            let _ = writeln!(table, "| `{agent}` | {} |", cells.join(" | "));
        }
        (!agents.is_empty()).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_is_built_from_test_names() {
        let (mut agents, mut gate) = (AgentMatrix::new(AGENTS), AgentMatrix::new(GATE));
        for line in [
            "running 9 tests",
            "test agents::codex::success ... ok",
            "test agents::codex::hang ... FAILED",
            "test agents::mini_swe::success ... ok",
            "test gate::codex::pass ... ok",
            "test reports::success ... ok",
        ] {
            agents.read_line(line);
            gate.read_line(line);
        }
        let rows = |matrix: &AgentMatrix| -> Vec<String> {
            let table = matrix.to_markdown().unwrap();
            table.lines().skip(2).map(str::to_owned).collect()
        };
        let expect = [
            "| `codex` | ✓ | – | – | – | – | – | ✗ | – |",
            "| `mini-swe` | ✓ | – | – | – | – | – | – | – |",
        ];
        assert_eq!(rows(&agents), expect);
        assert_eq!(rows(&gate), ["| `codex` | ✓ | – | – | – | – | – |"]);
        assert!(!gate.is_complete(1));
        assert_eq!(agents.failures("codex"), ["codex::hang"]);
        assert!(agents.has_agent("mini-swe") && !agents.has_agent("gemini"));
        assert_eq!(AgentMatrix::new(AGENTS).to_markdown(), None);
    }
}
