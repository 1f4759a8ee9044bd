//! What Rust's test runners print of a test that failed without a panic: it should have panicked, it
//! returned an error, or a signal ended it.

use super::place::{Place, rust_place};
use crate::findings::Draft;

/// Takes such a line as the message; false if it is none.
pub(super) fn told_otherwise(draft: &mut Draft, body: &str) -> bool {
    if let Some(told) = body.strip_prefix("note: ")
        && told.starts_with("test did not panic as expected")
    {
        // Older compilers do not say where.
        if let Some(place) = did_not_panic(told) {
            draft.place(place.file, place.line, place.column);
        }
        draft.message(told);
        return true;
    }
    let aborted = body
        .strip_prefix("(test ")
        .and_then(|rest| rest.strip_suffix(')'));
    let told = aborted.or_else(|| body.starts_with("Error: ").then_some(body));
    if let Some(told) = told {
        draft.message(told);
    }
    told.is_some()
}

/// The place of a test that should have panicked.
pub(super) fn did_not_panic(line: &str) -> Option<Place<'_>> {
    let (_, place) = line.split_once("test did not panic as expected at ")?;
    rust_place(place)
}
