//! Commands that install the dependencies of checks, and that reset the state that they use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task::{Step, StepKind};

/// Command lines that prepare the checks, as configured when the run began. An attempt cannot change them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SetupSpec {
    /// Install dependencies: in a fresh clone before anything else, and before the checks of an attempt that changed
    /// installed files, or the manifests and lock files that name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// Reset databases and the like before each run of the checks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Ignored files that a clone of a repository of this machine takes along, as patterns of `.gitignore`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Time for all of `run`, and for all of `reset`, in milliseconds.
    pub timeout_ms: u64,
    /// Whether the run works in a fresh clone, in which nothing is installed yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_clone: bool,
}

impl SetupSpec {
    /// Its command lines as steps, to find the scripts that they run.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let lines = self.run.iter().chain(&self.reset);
        lines.map(|line| Step::new(StepKind::Command, line))
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.reset.is_empty()
    }
}

/// A task's own setup, which replaces the corresponding commands of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskSetup {
    /// Command lines that install dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// Command lines that reset databases and the like before each run of the checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Vec<String>>,
}

impl TaskSetup {
    /// The setup of the settings, with this one's commands.
    pub fn override_settings(&self, settings: &SetupSpec) -> SetupSpec {
        let either = |own: &Option<Vec<String>>, other: &[String]| {
            own.clone().unwrap_or_else(|| other.to_vec())
        };
        SetupSpec {
            run: either(&self.run, &settings.run),
            reset: either(&self.reset, &settings.reset),
            ..settings.clone()
        }
    }
}

/// Manifests, lock files and settings of package managers that decide what is installed.
const DEPENDENCY_INPUTS: [&str; 38] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    ".npmrc",
    "yarn.lock",
    ".yarnrc",
    ".yarnrc.yml",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "uv.toml",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "pip.conf",
    "environment.yml",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    "go.mod",
    "go.sum",
    "Cargo.toml",
    "Cargo.lock",
    "Podfile",
    "Podfile.lock",
    "pubspec.yaml",
    "pubspec.lock",
    "tox.ini",
];

/// Whether a file decides which dependencies are installed.
pub fn is_dependency_input(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_requirements = || {
        let is_listed = name.starts_with("requirements") || name.starts_with("constraints");
        let is_text = name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "txt");
        is_text && (is_listed || path.split('/').any(|folder| folder == "requirements"))
    };
    DEPENDENCY_INPUTS.contains(&name) || is_requirements()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_dependency_input_by_name() {
        for path in [
            "web/package-lock.json",
            "requirements-dev.txt",
            "requirements/test.txt",
            "uv.lock",
        ] {
            assert!(is_dependency_input(path), "{path}");
        }
        for path in ["src/package.rs", "notes/required.txt", "package.json.md"] {
            assert!(!is_dependency_input(path), "{path}");
        }
    }
}
