//! Rules that no other tool checks: names of types, text that must not be in the repository, and
//! dependencies between crates.
//!
//! They run as tests in `cargo test --workspace`; `cargo xtask tidy` checks them without the other
//! tests.

mod dependencies;
pub(crate) mod licences;
mod names;
mod sources;
mod text;

use crate::XtaskResult;
use crate::workspace::CargoMetadata;
use sources::RepositoryFile;

/// Checks all rules in the working tree.
pub(crate) fn run() -> XtaskResult {
    let sources = sources::read_all()?;
    let mut offences = names::check(&sources);
    offences.extend(sources.iter().flat_map(text::check));
    offences.extend(dependencies::check(&CargoMetadata::workspace_only()?));
    offences.extend(dependencies::check_purity(
        &CargoMetadata::with_dependencies()?,
    ));
    or_error(&offences)
}

/// Returns an error if there are violations.
fn or_error(offences: &[String]) -> XtaskResult {
    if offences.is_empty() {
        Ok(())
    } else {
        Err(offences.join("\n").into())
    }
}

#[cfg(test)]
#[test]
fn tidy_accepts_the_repository() {
    if let Err(offences) = run() {
        panic!("{offences}");
    }
}
