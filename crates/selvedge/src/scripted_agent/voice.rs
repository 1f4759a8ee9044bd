//! How the agent speaks of what it does.

use std::io;

use serde_json::Value;

use super::script::Ending;

/// A way of speaking. Everything is flushed at once: who listens may kill the agent at any time.
pub(super) trait Voice {
    /// Before anything else.
    fn begin(&mut self) -> io::Result<()>;

    /// Text to people.
    fn say(&mut self, text: &str) -> io::Result<()>;

    /// A tool is about to be used.
    fn tool_started(&mut self, name: &str, input: &Value) -> io::Result<()>;

    /// That tool has answered.
    fn tool_ended(&mut self, output: &str, is_error: bool) -> io::Result<()>;

    /// The end.
    fn end(&mut self, ending: &Ending) -> io::Result<()>;

    /// The first half of something that would be said.
    fn break_off(&mut self) -> io::Result<()>;

    /// Something said in bytes that are no UTF-8.
    fn garble(&mut self) -> io::Result<()>;

    /// Bytes as they are.
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()>;
}
