//! What was verified, in the forms that others read: JUnit XML, SARIF, Markdown, and the annotations
//! of code hosts.
//!
//! Every form is rendered from one [`ReportInput`] of a run or of a single verification, so that none of
//! them can say more than another. All text in it is foreign (of tools, agents, repositories) and is
//! made harmless for the form that it goes into. Nothing here reads or writes a file.
//!
//! Invariant: what is not verified is never green. It has a failure or an error in JUnit, and a
//! result of level `error` (`warning` when nothing was checked) in every list of remarks. A failure
//! that is known and excused is no pass: it is skipped in JUnit and suppressed in SARIF.

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
