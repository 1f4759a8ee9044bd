//! Standard output and standard error: all output of the program goes through here.
//!
//! A failed stream never interrupts the work: a run continues, and its journal records what was not shown. A failure of
//! standard output is reported once on standard error and turns a success into [`exit_code::INFRASTRUCTURE`]. A reader
//! that closed its end (`| head`) is not an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
use selvedge_core::model::exit_code;
use selvedge_core::redact::Redactor;

use crate::terminal::style;

/// The first error of standard output; nothing is written to it afterwards.
static OUTPUT_ERROR: OnceLock<ErrorKind> = OnceLock::new();

/// The log of a server, which shares standard error with notices and errors.
static SERVER_LOG: OnceLock<ServerLog> = OnceLock::new();

struct ServerLog {
    is_json: bool,
    redactor: Redactor,
}

/// Prints to standard output, without styles if it is not a terminal.
macro_rules! out {
    ($($text:tt)*) => {{ $crate::streams::print_output(format_args!($($text)*)); }};
}

/// Prints a line to standard output, without styles if it is not a terminal.
macro_rules! outln {
    ($($text:tt)*) => {{ $crate::streams::print_output(format_args!("{}\n", format_args!($($text)*))); }};
}

/// Prints to standard error, without styles if it is not a terminal.
macro_rules! err {
    ($($text:tt)*) => {{ $crate::streams::print_error(format_args!($($text)*)); }};
}

/// Prints a line to standard error, without styles if it is not a terminal.
macro_rules! errln {
    ($($text:tt)*) => {{ $crate::streams::print_error(format_args!("{}\n", format_args!($($text)*))); }};
}

/// Writes bytes to standard output unchanged. Returns `false` if it accepts no more.
pub(crate) fn write_output(bytes: &[u8]) -> bool {
    if OUTPUT_ERROR.get().is_some() {
        return false;
    }
    let mut output = io::stdout().lock();
    let written = output.write_all(bytes).and_then(|()| output.flush());
    drop(output);
    let Err(error) = written else { return true };
    if OUTPUT_ERROR.set(error.kind()).is_ok() && error.kind() != ErrorKind::BrokenPipe {
        let label = style::error("error:");
        errln!("{label} cannot write to standard output: {error}");
        let hint = style::dim("hint:");
        errln!(
            "  {hint} free disk space or redirect the output; runs are recorded anyway: selvedge show"
        );
    }
    false
}

/// Implements [`out!`] and [`outln!`].
pub(crate) fn print_output(text: Arguments<'_>) -> bool {
    let choice = AutoStream::choice(&io::stdout());
    write_output(&render_text(choice, text))
}

/// Implements [`err!`] and [`errln!`]. Ignores errors: there is nowhere to report them.
pub(crate) fn print_error(text: Arguments<'_>) {
    let choice = AutoStream::choice(&io::stderr());
    let text = render_text(choice, text);
    let _ = match SERVER_LOG.get() {
        Some(log) => io::stderr()
            .lock()
            .write_all(&log.redactor.redact_bytes(&text)),
        None => io::stderr().lock().write_all(&text),
    };
}

/// Treats notices and errors as a server's log, which must have been started: redacts them, and makes them its events if
/// it is JSON.
pub(crate) fn use_server_log(is_json: bool, redactor: Redactor) {
    // A process starts one log.
    let _ = SERVER_LOG.set(ServerLog { is_json, redactor });
}

/// Whether notices and errors are events of the log.
pub(crate) fn is_json_log() -> bool {
    SERVER_LOG.get().is_some_and(|log| log.is_json)
}

/// Whether standard output failed for a reason other than a closed reader.
pub(crate) fn output_failed() -> bool {
    OUTPUT_ERROR
        .get()
        .is_some_and(|kind| *kind != ErrorKind::BrokenPipe)
}

/// The exit code of a command that ended with `code`: not a success if its output could not be written.
pub(crate) fn final_exit_code(code: u8) -> u8 {
    if code == exit_code::VERIFIED && output_failed() {
        exit_code::INFRASTRUCTURE
    } else {
        code
    }
}

fn render_text(choice: ColorChoice, text: Arguments<'_>) -> Vec<u8> {
    let mut stream = AutoStream::new(Vec::new(), choice);
    // Writing to memory cannot fail.
    let _ = stream.write_fmt(text);
    stream.into_inner()
}
