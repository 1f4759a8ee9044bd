//! Command-line errors: message, location, hint and exit code. Errors are rendered here, once, at the edge.

use std::fmt::{self, Display};

use selvedge_core::model::exit_code;
use selvedge_core::sanitize::sanitize_text;

use crate::streams;
use crate::terminal::style;

/// An error to be shown to the user.
#[derive(Debug)]
pub(crate) struct CliError {
    /// The process exit code.
    pub(crate) code: u8,
    message: String,
    hints: Vec<String>,
    /// Whether the error may not occur on another machine: something is not installed or not
    /// configured here.
    pub(crate) is_of_this_machine: bool,
    /// Whether the message is already rendered, with its own layout.
    is_rendered: bool,
}

impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl CliError {
    fn new(code: u8, message: impl Display) -> Self {
        Self {
            code,
            message: message.to_string(),
            hints: Vec::new(),
            is_of_this_machine: false,
            is_rendered: false,
        }
    }

    /// A usage or configuration error: nothing was run.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(exit_code::USAGE, message)
    }

    /// A usage error that may not occur on another machine: something is not installed or not configured here.
    pub(crate) fn of_this_machine(message: impl Display) -> Self {
        Self {
            is_of_this_machine: true,
            ..Self::usage(message)
        }
    }

    /// An infrastructure error: Selvedge itself failed.
    pub(crate) fn infrastructure(message: impl Display) -> Self {
        Self::new(exit_code::INFRASTRUCTURE, message)
    }

    /// The system provides no random numbers for a secret.
    pub(crate) fn no_random_numbers(error: impl Display) -> Self {
        Self::infrastructure(format!(
            "cannot get random numbers from the system: {error}"
        ))
    }

    /// A usage error that is already rendered.
    pub(crate) fn prerendered(message: impl Display) -> Self {
        Self {
            is_rendered: true,
            ..Self::usage(message)
        }
    }

    /// Adds a hint about how to fix it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds where the error is.
    #[must_use]
    pub(crate) fn with_location(mut self, place: impl Display) -> Self {
        if !self.is_rendered {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }

    /// The whole error as plain text, for readers that are not a terminal.
    pub(crate) fn to_plain_text(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        sanitize_text(&(self.message.clone() + &hints.collect::<String>()))
    }

    /// Prints the error to standard error.
    pub(crate) fn print(&self) {
        // An error that ends the program is shown at every log level.
        if streams::is_json_log() && tracing::enabled!(tracing::Level::ERROR) {
            let hint = (!self.hints.is_empty()).then(|| self.hints.join("; "));
            tracing::error!(hint, "{}", self.message);
            return;
        }
        if self.is_rendered {
            errln!("{}", self.message);
        } else {
            errln!(
                "{} {}",
                style::error("error:"),
                sanitize_text(&self.message)
            );
        }
        self.hints.iter().for_each(|hint| print_hint(hint));
    }
}

/// Prints a hint below a message.
pub(crate) fn print_hint(hint: &str) {
    errln!("  {} {}", style::dim("hint:"), sanitize_text(hint));
}
