//! Plain text: what any other program prints.

use std::io::{self, Write};

use serde_json::Value;

use super::script::Ending;
use super::voice::Voice;

pub(super) struct Plain<W> {
    out: W,
}

impl<W: Write> Plain<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.raw(format!("{text}\n").as_bytes())
    }
}

impl<W: Write> Voice for Plain<W> {
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.line(text)
    }

    fn tool_started(&mut self, name: &str, input: &Value) -> io::Result<()> {
        let subject = input["command"]
            .as_str()
            .or(input["file_path"].as_str())
            .unwrap_or_default();
        self.line(&format!("> {name} {subject}"))
    }

    fn tool_ended(&mut self, output: &str, _is_error: bool) -> io::Result<()> {
        self.line(output.trim_end())
    }

    fn end(&mut self, ending: &Ending) -> io::Result<()> {
        ending
            .result
            .as_ref()
            .map_or(Ok(()), |text| self.line(text))
    }

    fn break_off(&mut self) -> io::Result<()> {
        self.raw(b"I was about to s")
    }

    fn garble(&mut self) -> io::Result<()> {
        self.raw(b"caf\xe9 \xff\xfe\xc3\x28\n")
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}
