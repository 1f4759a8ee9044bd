//! Which checks are proposed for which files, and what is written.

mod ci;
mod ecosystems;
mod monorepos;
mod written;

use super::files::RepositoryFiles;
use super::proposal::{Proposal, propose_checks};

fn repository(files: &[(&str, &str)]) -> RepositoryFiles {
    let mut repository = RepositoryFiles::default();
    for (path, text) in files {
        repository.insert((*path).to_owned(), Some((*text).to_owned()));
    }
    repository
}

fn proposals(files: &[(&str, &str)]) -> Vec<Proposal> {
    propose_checks(&repository(files))
}

/// Asserts the proposals for some files, each as `name: command`; the name begins with the directory unless that is the
/// root.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<_> = proposals(files)
        .iter()
        .map(|proposal| format!("{}: {}", proposal.step.label(), proposal.step.target))
        .collect();
    assert_eq!(found, expected);
}
