//! Mix.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFEST: &str = "mix.exs";

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(manifest) = at.text(MANIFEST) else {
        return Vec::new();
    };
    let propose = |role, name, command| Proposal::new(at, role, name, command, MANIFEST);
    let mut proposals = vec![propose(CheckRole::Test, "tests", "mix test")];
    if manifest.contains(":dialyxir") {
        proposals.push(propose(CheckRole::Types, "dialyzer", "mix dialyzer"));
    }
    if manifest.contains(":credo") {
        proposals.push(propose(CheckRole::Lint, "credo", "mix credo"));
    }
    if at.has(".formatter.exs") {
        proposals.push(propose(
            CheckRole::Format,
            "format",
            "mix format --check-formatted",
        ));
    }
    proposals
}

/// An umbrella project runs the tests of all its applications.
fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    above.text_or_empty(MANIFEST).contains("apps_path:")
}
