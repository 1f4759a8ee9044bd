//! The agent's prompt, and the attempt that it belongs to.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::json;

/// Precedes `n/max` in a corrective prompt.
const RETRY_MARKER: &str = "VERIFICATION RETRY ";

pub(super) struct ReceivedPrompt {
    text: String,
}

impl ReceivedPrompt {
    /// Reads the prompt from standard input, or else from the last argument.
    pub(super) fn receive(rest: &[OsString]) -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if let (true, Some(last)) = (text.trim().is_empty(), rest.last()) {
            text = last.to_string_lossy().into_owned();
        }
        Ok(Self { text })
    }

    /// The attempt's number, from 1, according to the prompt: retry n is attempt n + 1. An attempt that repeats an
    /// interrupted one gets the same prompt and does the same, whatever its number in the run.
    pub(super) fn attempt_number(&self) -> usize {
        let retry = self.text.lines().find_map(|line| {
            let (number, max) = line.strip_prefix(RETRY_MARKER)?.split_once('/')?;
            max.trim_end().parse::<usize>().ok()?;
            number.parse::<usize>().ok()
        });
        retry.unwrap_or(0).saturating_add(1)
    }

    /// Appends one line of JSON in one write, so that concurrent sessions do not mix their lines.
    pub(super) fn append_to_log(&self, path: &Path) -> io::Result<()> {
        let env_attempt_number = std::env::var("SELVEDGE_RUN_NUMBER").ok();
        let line = json!({
            "attempt": self.attempt_number(),
            "run_number": env_attempt_number.and_then(|number| number.parse::<u32>().ok()),
            "pid": std::process::id(),
            "prompt": self.text,
        });
        let mut log = OpenOptions::new().create(true).append(true).open(path)?;
        log.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(text: &str) -> usize {
        ReceivedPrompt {
            text: text.to_owned(),
        }
        .attempt_number()
    }

    #[test]
    fn prompt_retry_number_gives_attempt() {
        assert_eq!(attempt("mend it"), 1);
        assert_eq!(
            attempt("mend it\n\nVERIFICATION RETRY 1/2\n\nFAILED CHECKS:"),
            2
        );
        assert_eq!(attempt("VERIFICATION RETRY 5/5 "), 6);
        for talk in [
            "a VERIFICATION RETRY 1/2",
            "VERIFICATION RETRY",
            "VERIFICATION RETRY n/max",
        ] {
            assert_eq!(attempt(talk), 1, "{talk}");
        }
    }
}
