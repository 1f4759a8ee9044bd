//! What was verified, in the forms that others read: JUnit XML, SARIF, Markdown, and the annotations
//! of code hosts.
//!
//! Every form is rendered from one [`Account`] of a run or of a single verification, so that none of
//! them can say more than another. All text in it is foreign (of tools, agents, repositories) and is
//! made harmless for the form that it goes into. Nothing here reads or writes a file.
//!
//! Invariant: what is not verified is never green. It has a failure or an error in JUnit, and a
//! result of level `error` (`warning` when nothing was checked) in every list of remarks. A failure
//! that is known and excused is no pass: it is skipped in JUnit and suppressed in SARIF.

mod account;
mod fingerprint;
mod github;
mod gitlab;
mod junit;
mod markdown;
mod place;
mod remark;
mod sarif;

#[cfg(test)]
mod tests;

pub use account::{Account, Standing, Told, Verdict};
pub use github::github;
pub use gitlab::gitlab;
pub use junit::junit;
pub use markdown::markdown;
pub use place::{Place, Places};
pub use remark::{Level, Remark, remarks};
pub use sarif::sarif;
