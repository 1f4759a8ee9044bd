//! Mix.

use crate::init::files::Directory;
use crate::init::proposal::{Ecosystem, Proposal, Role};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFEST: &str = "mix.exs";

fn detect(at: &Directory<'_>) -> Vec<Proposal> {
    let Some(manifest) = at.text(MANIFEST) else {
        return Vec::new();
    };
    let propose = |role, name, command| Proposal::new(at, role, name, command, MANIFEST);
    let mut found = vec![propose(Role::Test, "tests", "mix test")];
    if manifest.contains(":dialyxir") {
        found.push(propose(Role::Types, "dialyzer", "mix dialyzer"));
    }
    if manifest.contains(":credo") {
        found.push(propose(Role::Lint, "credo", "mix credo"));
    }
    if at.has(".formatter.exs") {
        found.push(propose(
            Role::Format,
            "format",
            "mix format --check-formatted",
        ));
    }
    found
}

/// An umbrella runs the tests of all its applications.
fn covers(above: &Directory<'_>, _: &Directory<'_>) -> bool {
    above.text_or_empty(MANIFEST).contains("apps_path:")
}
