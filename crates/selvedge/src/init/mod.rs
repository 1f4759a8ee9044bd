//! `selvedge init`: looks at a repository, proposes checks that fit it, and writes them down.
//!
//! Reading the disk ([`walk`]), concluding ([`proposal`], [`ecosystems`]), trying and writing are
//! apart, so that every conclusion can be tested on a table of file names and texts. Nothing here
//! starts a process: the caller does, in [`try_proposals`].

mod document;
mod ecosystems;
mod files;
mod proposal;
mod setup;
#[cfg(test)]
mod tests;
mod trial;
mod walk;
mod write;

use std::path::Path;

pub(crate) use document::settings_document;
pub(crate) use proposal::Proposal;
pub(crate) use setup::SetupLine;
pub(crate) use trial::{Trial, TriedProposal, try_proposals};
pub(crate) use write::write;

/// The checks that fit the repository at `root`, and what installs its dependencies.
pub(crate) fn detect(root: &Path) -> (Vec<Proposal>, Vec<SetupLine>) {
    let files = walk::read_repository(root);
    (
        proposal::propose_checks(&files),
        setup::propose_setup(&files),
    )
}
