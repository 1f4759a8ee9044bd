//! CMake projects that declare tests.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFEST: &str = "CMakeLists.txt";

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let manifest = at.text_or_empty(MANIFEST).to_ascii_lowercase();
    if !manifest.contains("enable_testing") && !manifest.contains("include(ctest") {
        return Vec::new();
    }
    let command =
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    vec![Proposal::new(
        at,
        CheckRole::Test,
        "tests",
        command,
        MANIFEST,
    )]
}

/// A `CMakeLists.txt` includes the directories below it.
fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    above.has(MANIFEST)
}
