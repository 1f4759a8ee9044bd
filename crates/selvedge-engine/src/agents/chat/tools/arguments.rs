//! Lenient parsing of a tool call's arguments: accepts other names that models have learnt for the
//! same argument, and numbers written as text.

use serde_json::{Map, Value};

use super::super::conversation::FunctionCall;
use super::ToolError;

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolArguments<'a> {
    values: &'a Map<String, Value>,
}

const PATH: &[&str] = &["path", "file_path", "filename", "file", "directory", "dir"];
const PATTERN: &[&str] = &["pattern", "query", "regex"];
const COMMAND: &[&str] = &["command", "cmd"];
const CONTENT: &[&str] = &["content", "contents", "text"];
const OLD_TEXT: &[&str] = &["old_text", "old_string", "old_str", "search"];
const NEW_TEXT: &[&str] = &["new_text", "new_string", "new_str", "replace"];

impl<'a> ToolArguments<'a> {
    pub(super) fn new(call: &'a FunctionCall) -> Self {
        Self {
            values: &call.arguments,
        }
    }

    pub(super) fn path(self) -> Option<&'a str> {
        self.text(PATH).ok().filter(|path| !path.trim().is_empty())
    }

    pub(super) fn pattern(self) -> Option<&'a str> {
        self.text(PATTERN).ok()
    }

    pub(super) fn command(self) -> Option<&'a str> {
        self.text(COMMAND).ok()
    }

    pub(super) fn required_path(self) -> Result<&'a str, ToolError> {
        self.text(PATH)
    }

    pub(super) fn required_pattern(self) -> Result<&'a str, ToolError> {
        self.text(PATTERN)
    }

    pub(super) fn required_command(self) -> Result<&'a str, ToolError> {
        self.text(COMMAND)
    }

    pub(super) fn content(self) -> Result<&'a str, ToolError> {
        self.text(CONTENT)
    }

    pub(super) fn old_text(self) -> Result<&'a str, ToolError> {
        self.text(OLD_TEXT)
    }

    pub(super) fn new_text(self) -> Result<&'a str, ToolError> {
        self.text(NEW_TEXT)
    }

    pub(super) fn number(self, name: &str) -> Option<u64> {
        match self.values.get(name)? {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        }
    }

    fn text(self, names: &[&'static str]) -> Result<&'a str, ToolError> {
        let given = names
            .iter()
            .find_map(|name| self.values.get(*name)?.as_str());
        given.ok_or(ToolError::MissingArgument(names[0]))
    }
}
