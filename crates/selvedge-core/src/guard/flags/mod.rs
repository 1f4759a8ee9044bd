//! What the added and removed lines of sources and tests look like.

use super::ChangedFile;
use super::finding::Finding;
use super::protection::Protection;

pub(super) fn inspect(
    protection: &Protection,
    _: &[ChangedFile<'_>],
    _: &[Finding],
) -> Vec<Finding> {
    let _ = protection.task().ask_for_other_expectations();
    Vec::new()
}
