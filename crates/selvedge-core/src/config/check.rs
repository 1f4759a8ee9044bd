//! A `[[checks]]` entry as written in a file, and the step that it defines.

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::diagnostic::with_hint;
use super::values::HumanDuration;
use crate::model::{Step, StepKind};

/// A check as written, not yet validated as a whole.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct CheckTable {
    #[serde(rename = "type", default = "command", deserialize_with = "asked_for")]
    #[schemars(with = "ConfiguredKind")]
    kind: StepKind,
    pub(super) name: Option<String>,
    run: Option<String>,
    path: Option<String>,
    directory: Option<String>,
    timeout: Option<HumanDuration>,
    #[serde(default)]
    parallel: bool,
    settings: Option<serde_json::Value>,
}

/// The kinds of checks that can be configured; the other kinds run automatically.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ConfiguredKind {
    Command,
    TestPasses,
    FileExists,
    GitClean,
    Plugin,
}

fn asked_for<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StepKind, D::Error> {
    Ok(match ConfiguredKind::deserialize(deserializer)? {
        ConfiguredKind::Command => StepKind::Command,
        ConfiguredKind::TestPasses => StepKind::TestPasses,
        ConfiguredKind::FileExists => StepKind::FileExists,
        ConfiguredKind::GitClean => StepKind::GitClean,
        ConfiguredKind::Plugin => StepKind::Plugin,
    })
}

fn command() -> StepKind {
    StepKind::Command
}

/// A problem of a table as a whole: the key that it concerns, and the message.
pub(super) type TableError = (&'static str, String);

impl CheckTable {
    /// Converts the check into a step, or returns what is wrong with it.
    pub(super) fn into_step(self) -> Result<Step, TableError> {
        let target = self.target()?;
        if self.settings.is_some() && self.kind != StepKind::Plugin {
            let message = format_args!("`{}` checks have no `settings`", self.kind.as_str());
            let hint = "remove it; only checks of type = \"plugin\" have settings";
            return Err(("settings", with_hint(message, hint)));
        }
        if let Some(directory) = &self.directory {
            check_inside_workspace("directory", directory)?;
        }
        Ok(Step {
            kind: self.kind,
            target,
            name: self.name,
            directory: self.directory,
            timeout_ms: self.timeout.map(|timeout| timeout.0),
            parallel: self.parallel,
            settings: self.settings,
        })
    }

    fn target(&self) -> Result<String, TableError> {
        let kind = self.kind.as_str();
        match self.kind {
            StepKind::Command | StepKind::TestPasses | StepKind::Plugin => {
                match (&self.run, &self.path) {
                    (Some(run), None) if !run.trim().is_empty() => Ok(run.clone()),
                    (Some(_), None) => Err(("run", "the command is empty".to_owned())),
                    (_, Some(_)) => Err((
                        "path",
                        with_hint(
                            format_args!("`{kind}` checks have no `path`"),
                            "use type = \"file_exists\" to check a file, or `run` to run a command",
                        ),
                    )),
                    (None, None) => Err((
                        "",
                        with_hint(
                            format_args!("`{kind}` checks need `run`"),
                            "add the command, such as run = \"cargo test\"",
                        ),
                    )),
                }
            }
            StepKind::Output | StepKind::Syntax | StepKind::ToolCalls => Err((
                "type",
                format!("checks of the type `{kind}` cannot be configured"),
            )),
            StepKind::FileExists | StepKind::GitClean => {
                if self.run.is_some() {
                    let hint = "remove it, or set type = \"command\"";
                    return Err((
                        "run",
                        with_hint(format_args!("`{kind}` checks have no `run`"), hint),
                    ));
                }
                match &self.path {
                    Some(path) => check_inside_workspace("path", path).map(|()| path.clone()),
                    None if self.kind == StepKind::GitClean => Ok(String::new()),
                    None => Err(("", format!("`{kind}` checks need `path`"))),
                }
            }
        }
    }
}

/// Rejects paths outside the workspace: checks read nothing else.
fn check_inside_workspace(key: &'static str, path: &str) -> Result<(), TableError> {
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.is_empty() && Path::new(path).components().all(inside) {
        return Ok(());
    }
    let message = format!("{path:?} is not a path inside the repository");
    Err((
        key,
        with_hint(message, "write it relative to the repository, without `..`"),
    ))
}
