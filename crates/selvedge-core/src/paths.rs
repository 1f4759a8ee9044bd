//! Paths as text, without a look at the disk.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` by the text alone, as if no folder were a link.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    normal
}
