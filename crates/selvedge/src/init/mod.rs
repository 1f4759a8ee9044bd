//! `selvedge init`: inspects a repository, proposes checks for it, and writes them to `selvedge.toml`.
//!
//! Reading the disk ([`walk`]), detection ([`proposal`], [`ecosystems`]), trials and writing are separate, so that
//! detection can be tested with tables of file names and texts. Nothing here starts a process: the caller of
//! [`try_proposals`] does.

mod ci;
mod diagnosis;
mod document;
mod ecosystems;
mod files;
mod overlap;
mod proposal;
mod setup;
#[cfg(test)]
mod tests;
mod trial;
mod walk;
mod write;

use std::path::Path;

pub(crate) use ci::{UncoveredCi, uncovered_comment};
pub(crate) use document::settings_document;
pub(crate) use proposal::Proposal;
pub(crate) use setup::SetupLine;
pub(crate) use trial::{Trial, TriedProposal, explain_failure, try_proposals};
pub(crate) use write::write;

/// Proposes checks for the repository at `root`, and commands that install its dependencies. Returns what CI
/// checks and no proposal does, too.
pub(crate) fn detect(root: &Path) -> (Vec<Proposal>, Vec<SetupLine>, UncoveredCi) {
    let files = walk::read_repository(root);
    let mut proposals = proposal::propose_checks(&files);
    let mut uncovered = ci::adopt(&files, &mut proposals);
    overlap::note_containing_commands(&files, &mut proposals, &mut uncovered);
    (proposals, setup::propose_setup(&files), uncovered)
}
