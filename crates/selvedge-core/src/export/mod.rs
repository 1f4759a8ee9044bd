//! Reports in the formats of other tools: JUnit XML, SARIF, Markdown, and the annotations of code hosts.
//!
//! Every format is rendered from one [`ReportInput`] of a run or of a single verification, so that all have the same
//! content. All text in it is untrusted (from tools, agents, repositories) and is escaped for the format. This module
//! does not read or write files.
//!
//! Invariant: work that is not verified is never green. It has a failure or an error in JUnit, and a result of level
//! `error` (`warning` if nothing was checked) in every list of annotations. A known, excused failure is not a pass: it
//! is skipped in JUnit and suppressed in SARIF.

mod annotation;
mod fingerprint;
mod github;
mod gitlab;
mod input;
mod junit;
mod location;
mod markdown;
mod sarif;

#[cfg(test)]
mod tests;

pub use annotation::{Annotation, AnnotationLevel, annotations};
pub use github::github;
pub use gitlab::gitlab;
pub use input::{AttemptSummary, ReportInput, ReportVerdict, ResultCategory};
pub use junit::junit;
pub use location::{FileLocation, LocationResolver};
pub use markdown::markdown;
pub use sarif::sarif;
