//! CMake projects that declare tests.

use crate::init::files::Directory;
use crate::init::proposal::{Ecosystem, Proposal, Role};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFEST: &str = "CMakeLists.txt";

fn detect(at: &Directory<'_>) -> Vec<Proposal> {
    let manifest = at.text_or_empty(MANIFEST).to_ascii_lowercase();
    if !manifest.contains("enable_testing") && !manifest.contains("include(ctest") {
        return Vec::new();
    }
    let command =
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    vec![Proposal::new(at, Role::Test, "tests", command, MANIFEST)]
}

/// Directories below are added to the project by its own `CMakeLists.txt`.
fn covers(above: &Directory<'_>, _: &Directory<'_>) -> bool {
    above.has(MANIFEST)
}
