//! Messages of Rust's test runners for tests that failed without a panic: a missing expected panic, a
//! returned error, or a signal.

use super::location::{CodeLocation, parse_rust_location};
use crate::findings::FailureBuilder;

/// Takes such a line as the message; false if it is not one.
pub(super) fn take_non_panic_message(draft: &mut FailureBuilder, body: &str) -> bool {
    if let Some(note) = body.strip_prefix("note: ")
        && note.starts_with("test did not panic as expected")
    {
        // Older compilers do not print the place.
        if let Some(place) = parse_missing_panic_location(note) {
            draft.set_location(place.file, place.line, place.column);
        }
        draft.push_message(note);
        return true;
    }
    let aborted = body
        .strip_prefix("(test ")
        .and_then(|rest| rest.strip_suffix(')'));
    let note = aborted.or_else(|| body.starts_with("Error: ").then_some(body));
    if let Some(note) = note {
        draft.push_message(note);
    }
    note.is_some()
}

/// The place of a test that should have panicked.
pub(super) fn parse_missing_panic_location(line: &str) -> Option<CodeLocation<'_>> {
    let (_, place) = line.split_once("test did not panic as expected at ")?;
    parse_rust_location(place)
}
