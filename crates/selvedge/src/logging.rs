//! The log of a server (`hub`, `worker`) on standard error.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use selvedge_core::sanitize::sanitize_text;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::CliError;
use crate::secrets::{self, RedactingWriter};
use crate::settings::environment;

/// Variable with the levels of the log.
const FILTER_VARIABLE: &str = "SELVEDGE_LOG";
const DEFAULT_FILTER: &str = "info";

/// Whether a worker's lines are events of the log, instead of plain lines.
static IS_STRUCTURED: AtomicBool = AtomicBool::new(false);

/// Format of a server's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts the log of a hub. Known secrets are redacted.
pub(crate) fn start(format: LogFormat) -> Result<(), CliError> {
    let text = environment()
        .into_iter()
        .find(|(name, value)| name == FILTER_VARIABLE && !value.is_empty());
    let text = text.map_or_else(|| DEFAULT_FILTER.to_owned(), |(_, value)| value);
    let filter = Targets::from_str(&text).map_err(|error| {
        CliError::usage(format!("{FILTER_VARIABLE}: invalid filter `{text}`: {error}"))
            .hint("use a level (error, warn, info, debug, trace), or levels by module: info,selvedge_hub=debug")
    })?;
    let redactor = secrets::host_redactor();
    let writer = move || RedactingWriter::new(std::io::stderr(), redactor.clone());
    // Lines that cannot be written are lost: there is nowhere to report that.
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
    Ok(())
}

/// Starts the log of a worker: plain lines, or events of the structured log.
pub(crate) fn start_worker(format: LogFormat) -> Result<(), CliError> {
    if format == LogFormat::Json {
        start(format)?;
        IS_STRUCTURED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Prints a line of a worker's log.
pub(crate) fn print_line(line: &str) {
    let line = sanitize_text(line);
    if IS_STRUCTURED.load(Ordering::Relaxed) {
        tracing::info!("{line}");
    } else {
        errln!("{line}");
    }
}
