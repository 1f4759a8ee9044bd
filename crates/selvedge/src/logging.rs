//! The log of a server (`hub`, `worker`) on standard error.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::str::FromStr;

use clap::ValueEnum;
use selvedge_core::redact::Redactor;
use selvedge_core::sanitize::sanitize_line;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::CliError;
use crate::secrets;
use crate::settings::environment;
use crate::streams;

/// Variable with the levels of the log.
const FILTER_VARIABLE: &str = "SELVEDGE_LOG";
const DEFAULT_FILTER: &str = "info";

/// Format of a server's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts the log of a server. Known secrets are redacted. The log also gets panics, and as JSON the notices and errors
/// of the command line.
pub(crate) fn start(format: LogFormat) -> Result<(), CliError> {
    let text = environment()
        .into_iter()
        .find(|(name, value)| name == FILTER_VARIABLE && !value.is_empty());
    let text = text.map_or_else(|| DEFAULT_FILTER.to_owned(), |(_, value)| value);
    // The error about an invalid filter is in the log, too.
    let (filter, started) = match Targets::from_str(&text) {
        Ok(filter) => (filter, Ok(())),
        Err(error) => (Targets::new().with_default(Level::INFO), Err(
            CliError::usage(format!("{FILTER_VARIABLE}: invalid filter `{text}`: {error}"))
                .hint("use a level (error, warn, info, debug, trace), or levels by module: info,selvedge_hub=debug")
        )),
    };
    let redactor = secrets::host_redactor();
    streams::use_server_log(format == LogFormat::Json, redactor.clone());
    let writer = move || LogWriter {
        inner: io::stderr(),
        redactor: redactor.clone(),
    };
    // Lines that cannot be written are lost, because the error cannot be reported anywhere.
    let lines = fmt::layer()
        .with_writer(writer)
        .log_internal_errors(false)
        .with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Text => registry.with(lines).init(),
        LogFormat::Json => registry
            .with(lines.json().flatten_event(true).with_span_list(false))
            .init(),
    }
    panic::set_hook(Box::new(log_panic));
    started
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    if !tracing::enabled!(Level::ERROR) {
        errln!("{panic}");
        return;
    }
    let message = panic.payload_as_str().unwrap_or("unknown reason");
    let location = panic.location().map(ToString::to_string);
    let thread = std::thread::current();
    // Only with RUST_BACKTRACE.
    let backtrace = Backtrace::capture();
    let backtrace =
        (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(
        location,
        thread = thread.name(),
        backtrace,
        "panicked: {message}"
    );
}

/// Writes each event as one line without control characters, in which known secrets are redacted: texts of workers and
/// clients cannot look like further events.
struct LogWriter<W> {
    inner: W,
    redactor: Redactor,
}

impl<W: Write> Write for LogWriter<W> {
    /// Gets one event per call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = sanitize_line(text.strip_suffix('\n').unwrap_or(&text));
        let line = self.redactor.redact_text(&line);
        self.inner.write_all(format!("{line}\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use selvedge_core::redact::Secret;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, event: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = {
            let buffer = buffer.clone();
            move || LogWriter {
                inner: buffer.clone(),
                redactor: Redactor::new(&[Secret::new("KEY", "hunter22-Zq9x")]),
            }
        };
        let lines = fmt::layer().with_writer(writer).without_time();
        let registry = tracing_subscriber::registry();
        match format {
            LogFormat::Text => tracing::subscriber::with_default(registry.with(lines), event),
            LogFormat::Json => {
                tracing::subscriber::with_default(registry.with(lines.json()), event);
            }
        }
        let bytes = buffer.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn log_line_cannot_be_forged() {
        let hostile = "x\n2026-01-01 ERROR forged\r\u{1b}[2J\u{202e}y hunter22-Zq9x";
        for format in [LogFormat::Text, LogFormat::Json] {
            let text = logged(format, || {
                tracing::info!(worker = %hostile, reason = hostile, "a task was declined: {hostile}");
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            let is_hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(is_hidden), "{text:?}");
            assert_eq!(text.matches("[redacted:KEY]").count(), 3, "{text}");
            assert!(!text.contains("hunter22"), "{text}");
        }
    }

    #[test]
    fn panic_is_an_event_of_the_log() {
        let text = logged(LogFormat::Json, || {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(log_panic));
            let _ = panic::catch_unwind(|| panic!("no\nway"));
            panic::set_hook(previous);
        });
        let event: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["level"], "ERROR");
        assert_eq!(event["fields"]["message"], "panicked: no\nway");
        let location = event["fields"]["location"].as_str().unwrap();
        assert!(location.contains("logging.rs"), "{location}");
    }
}
