//! Turns the raw output of build, test and lint tools into the information that a model needs to fix it.
//!
//! Bytes go in, in chunks of any size, and [`Digester::finish`] returns an [`Analysis`]: the failures, the
//! test counts and ids, and the most salient lines. [`Analysis::render`] fits it into a token budget. The
//! crate is pure and synchronous, reads the log once, and uses bounded memory for logs of any length.
//!
//! ```
//! use selvedge_digest::{CommandStatus, DigestBudget, Hints, analyse};
//!
//! let log = b"src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n";
//! let analysis = analyse(log, Hints::default(), CommandStatus::Code(2));
//! let digest = analysis.render(DigestBudget::default());
//! assert!(digest.text.contains("src/app.ts"));
//! assert!(digest.tokens_estimated <= 500);
//! ```
//!
//! A program that runs a command copies the command's output into the [`Digester`], which is an
//! [`io::Write`](std::io::Write), and reads the records:
//!
//! ```
//! use std::io;
//!
//! use selvedge_digest::{Digester, CommandStatus, FailureKind, Hints};
//!
//! # fn main() -> io::Result<()> {
//! // In life the output of a child process, and its exit status.
//! let mut output = "src/a.c:3:7: error: expected ';'\nmake: *** [a.o] Error 1\n".as_bytes();
//! let mut digester = Digester::new(Hints::command("make"));
//! io::copy(&mut output, &mut digester)?;
//! let analysis = digester.finish(CommandStatus::Code(2));
//!
//! let failure = &analysis.failures[0];
//! assert_eq!(failure.kind, FailureKind::Compile);
//! assert_eq!(failure.file.as_deref(), Some("src/a.c"));
//! assert_eq!((failure.line, failure.column), (Some(3), Some(7)));
//! assert_eq!(failure.summary, "expected ';'");
//! # Ok(())
//! # }
//! ```
//!
//! The status of a run comes from its exit code, never from parsed text: a failed command is never rendered
//! as a success, whatever the log contains.

#![warn(missing_docs)]

mod analysis;
mod budget;
mod clean;
mod digester;
mod fallback;
mod findings;
mod formats;
mod hash;
mod line;
mod noise;
mod passing_output;
mod pattern;
mod record;
mod render;
mod scan;

pub use analysis::{Analysis, Digest, render_shared};
pub use budget::{DEFAULT_BUDGET_TOKENS, DigestBudget, estimate_tokens};
pub use clean::strip_escapes;
pub use digester::{CommandStatus, Digester, Hints, analyse};
pub use formats::formats;
pub use passing_output::PassingOutput;
pub use record::{
    Failure, FailureKind, FailureSource, SUMMARY_CHARS, TestIds, TestReader, TestSummary,
};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
