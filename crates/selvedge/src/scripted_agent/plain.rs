//! Plain text, as of agents without a machine-readable format.

use std::io::{self, Write};

use serde_json::Value;

use super::script::ScriptedResult;
use super::session_writer::SessionWriter;

pub(super) struct PlainSessionWriter<W> {
    out: W,
}

impl<W: Write> PlainSessionWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    fn write_line(&mut self, text: &str) -> io::Result<()> {
        self.write_raw(format!("{text}\n").as_bytes())
    }
}

impl<W: Write> SessionWriter for PlainSessionWriter<W> {
    fn write_start(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        self.write_line(text)
    }

    fn write_tool_start(&mut self, name: &str, input: &Value) -> io::Result<()> {
        let subject = input["command"]
            .as_str()
            .or(input["file_path"].as_str())
            .unwrap_or_default();
        self.write_line(&format!("> {name} {subject}"))
    }

    fn write_tool_end(&mut self, output: &str, _is_error: bool) -> io::Result<()> {
        self.write_line(output.trim_end())
    }

    fn write_result(&mut self, ending: &ScriptedResult) -> io::Result<()> {
        ending
            .result
            .as_ref()
            .map_or(Ok(()), |text| self.write_line(text))
    }

    fn write_truncated(&mut self) -> io::Result<()> {
        self.write_raw(b"I was about to s")
    }

    fn write_invalid_utf8(&mut self) -> io::Result<()> {
        self.write_raw(b"caf\xe9 \xff\xfe\xc3\x28\n")
    }

    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}
