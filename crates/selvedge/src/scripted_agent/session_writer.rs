//! How the agent speaks of what it does.

use std::io;

use serde_json::Value;

use super::script::ScriptedResult;

/// A way of speaking. Everything is flushed at once: who listens may kill the agent at any time.
pub(super) trait SessionWriter {
    /// Before anything else.
    fn write_start(&mut self) -> io::Result<()>;

    /// Text to people.
    fn write_text(&mut self, text: &str) -> io::Result<()>;

    /// A tool is about to be used.
    fn write_tool_start(&mut self, name: &str, input: &Value) -> io::Result<()>;

    /// That tool has answered.
    fn write_tool_end(&mut self, output: &str, is_error: bool) -> io::Result<()>;

    /// The end.
    fn write_result(&mut self, ending: &ScriptedResult) -> io::Result<()>;

    /// The first half of something that would be said.
    fn write_truncated(&mut self) -> io::Result<()>;

    /// Something said in bytes that are no UTF-8.
    fn write_invalid_utf8(&mut self) -> io::Result<()>;

    /// Bytes as they are.
    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()>;
}
