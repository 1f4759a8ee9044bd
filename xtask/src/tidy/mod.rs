//! The rules of the house that no other tool knows: how a file opens and how long it may be, names
//! that say nothing, what must not be written down, and which crate may know which.
//!
//! They run as tests, so that `cargo test --workspace` holds them; `cargo xtask tidy` says the same
//! without waiting for the other tests.

mod directions;
mod length;
pub(crate) mod licences;
mod sources;
mod text;

use crate::Done;
use crate::workspace::Metadata;
use sources::Source;

/// Every rule, on the tree as it is.
pub(crate) fn run() -> Done {
    let sources = sources::all()?;
    let mut offences = length::check(&sources)?;
    offences.extend(sources.iter().flat_map(text::check));
    offences.extend(directions::check(&Metadata::own()?));
    offences.extend(directions::check_purity(&Metadata::whole()?));
    or_error(&offences)
}

/// No offence is success.
fn or_error(offences: &[String]) -> Done {
    if offences.is_empty() {
        Ok(())
    } else {
        Err(offences.join("\n").into())
    }
}

#[cfg(test)]
#[test]
fn the_tree_is_tidy() {
    if let Err(offences) = run() {
        panic!("{offences}");
    }
}
