//! `make` and `just`: targets whose names say what they are for.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: true,
};

const RUNNERS: [(&str, &[&str]); 2] = [
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
];

/// Names of targets, the preferred first. `check` is where GNU projects keep their tests.
const TARGETS: [(CheckRole, &str, &[&str]); 4] = [
    (CheckRole::Test, "tests", &["test", "tests", "check"]),
    (CheckRole::Types, "types", &["typecheck", "type-check"]),
    (CheckRole::Lint, "lint", &["lint"]),
    (
        CheckRole::Format,
        "format",
        &["fmt-check", "format-check", "check-format", "check-fmt"],
    ),
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let mut found: Vec<Proposal> = Vec::new();
    for (runner, files) in RUNNERS {
        let Some(file) = at.first(files) else {
            continue;
        };
        let text = at.text_or_empty(file);
        for (role, name, targets) in TARGETS {
            let target = targets.iter().find(|target| declares(text, target));
            if let Some(target) = target.filter(|_| found.iter().all(|other| other.role != role)) {
                found.push(Proposal::new(
                    at,
                    role,
                    name,
                    format!("{runner} {target}"),
                    file,
                ));
            }
        }
    }
    found
}

/// Files below are mostly called by the one above.
fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    RUNNERS
        .iter()
        .any(|(_, files)| above.first(files).is_some())
}

/// Whether a line begins with the target's name and the colon that ends it: `test: build`,
/// `test filter="":`, but not `test := 1`.
fn declares(text: &str, target: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix('@').unwrap_or(line);
        let rest = line.strip_prefix(target).unwrap_or_default();
        let ends_name = rest.starts_with([':', ' ']);
        let colon = rest.find(':').map(|colon| &rest[colon + 1..]);
        ends_name && colon.is_some_and(|after| !after.starts_with('='))
    })
}
