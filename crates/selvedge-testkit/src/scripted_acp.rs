//! A scripted agent that speaks the Agent Client Protocol, and its log. The agent is a Python program,
//! which shares no code with the protocol library under test.

use std::path::{Path, PathBuf};

use serde_json::Value;

const PROGRAM: &str = include_str!("scripted_acp/agent.py");

/// The agent, with its script and its log in a folder.
#[derive(Debug)]
pub struct ScriptedAcpAgent {
    folder: PathBuf,
    name: &'static str,
}

impl ScriptedAcpAgent {
    /// Writes the program and its script into a folder. The script is a list of sessions, each a list
    /// of steps; the program documents the steps.
    pub fn write(folder: &Path, sessions: &Value) -> Self {
        Self::write_as("acp-agent.py", folder, sessions)
    }

    /// Writes the program under another name, so that it is taken for another one.
    pub fn write_as(name: &'static str, folder: &Path, sessions: &Value) -> Self {
        let agent = Self {
            folder: folder.to_owned(),
            name,
        };
        std::fs::write(agent.program(), PROGRAM).expect("the folder can be written to");
        std::fs::write(agent.file("script"), sessions.to_string())
            .expect("the folder can be written to");
        agent
    }

    /// The command line that starts the agent.
    pub fn command_line(&self) -> Vec<PathBuf> {
        let files = ["script", "log"].map(|kind| self.file(kind));
        let program = ["python3".into(), self.program()];
        program.into_iter().chain(files).collect()
    }

    /// The messages that the agent received, of one kind: `prompt`, `initialize`, `environment`,
    /// `authenticate`, `new`, `set`, `set_model`, `set_mode`, `cancelled`.
    pub fn received(&self, kind: &str) -> Vec<Value> {
        let of_kind = |(name, value): (String, Value)| (name == kind).then_some(value);
        self.log().into_iter().filter_map(of_kind).collect()
    }

    /// The responses to the agent's own requests, in order.
    pub fn answers(&self) -> Vec<Value> {
        let of_request = |(name, value): (String, Value)| name.contains('/').then_some(value);
        self.log().into_iter().filter_map(of_request).collect()
    }

    fn log(&self) -> Vec<(String, Value)> {
        let log = std::fs::read_to_string(self.file("log")).unwrap_or_default();
        let entries = log.lines().filter_map(|line| {
            let entry: serde_json::Map<_, _> = serde_json::from_str(line).ok()?;
            entry.into_iter().next()
        });
        entries.collect()
    }

    fn program(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("acp-agent.{kind}"))
    }
}
