//! Turns the raw output of build, test and lint tools into what a model needs to fix it.
//!
//! Bytes go in, in chunks of any size, and [`Digester::finish`] gives an [`Analysis`]: the
//! failures, the test counts and ids, and the most telling lines. [`Analysis::render`] fits that
//! into a budget of tokens. Everything here is pure and synchronous, reads the log once, and holds
//! a bounded part of it however long it is.
//!
//! ```
//! use selvedge_digest::{Budget, Exit, Hints, analyse};
//!
//! let log = b"src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n";
//! let analysis = analyse(log, Hints::default(), Exit::Code(2));
//! let digest = analysis.render(Budget::default());
//! assert!(digest.text.contains("src/app.ts"));
//! assert!(digest.tokens_estimated <= 500);
//! ```
//!
//! The status of a run comes from its exit code, never from parsed text: a failing exit never
//! renders as success, whatever the log says.

mod analysis;
mod budget;
mod clean;
mod digester;
mod fallback;
mod findings;
mod formats;
mod hash;
mod last_green;
mod line;
mod pattern;
mod record;
mod render;
mod scan;

pub use analysis::{Analysis, Digest, render_shared};
pub use budget::{Budget, DEFAULT_BUDGET_TOKENS, estimate_tokens};
pub use clean::strip_escapes;
pub use digester::{Digester, Exit, Hints, analyse};
pub use formats::formats;
pub use last_green::LastGreen;
pub use record::{Failure, FailureKind, SUMMARY_CHARS, Source, TestIds, TestSummary};
