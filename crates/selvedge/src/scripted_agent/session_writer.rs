//! Writes the records of a session.

use std::io;

use serde_json::Value;

use super::script::ScriptedResult;

/// An output format. Everything is flushed immediately, because the reader may kill the agent at any time.
pub(super) trait SessionWriter {
    /// Begins the session.
    fn write_start(&mut self) -> io::Result<()>;

    /// Writes text of the agent.
    fn write_text(&mut self, text: &str) -> io::Result<()>;

    /// Begins a tool call.
    fn write_tool_start(&mut self, name: &str, input: &Value) -> io::Result<()>;

    /// Ends a tool call.
    fn write_tool_end(&mut self, output: &str, is_error: bool) -> io::Result<()>;

    /// Ends the session.
    fn write_result(&mut self, ending: &ScriptedResult) -> io::Result<()>;

    /// Writes the first half of a record.
    fn write_truncated(&mut self) -> io::Result<()>;

    /// Writes a record that is not UTF-8.
    fn write_invalid_utf8(&mut self) -> io::Result<()>;

    /// Writes bytes unchanged.
    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()>;
}
