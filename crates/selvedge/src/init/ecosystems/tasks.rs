//! `make` and `just`: targets with names that describe their purpose.

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

/// Target names, preferred ones first. GNU projects run their tests with `check`.
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
    let mut proposals: Vec<Proposal> = Vec::new();
    for (runner, files) in RUNNERS {
        let Some(file) = at.first(files) else {
            continue;
        };
        let text = at.text_or_empty(file);
        for (role, name, targets) in TARGETS {
            let target = targets.iter().find(|target| declares(text, target));
            if let Some(target) =
                target.filter(|_| proposals.iter().all(|other| other.role != role))
            {
                proposals.push(Proposal::new(
                    at,
                    role,
                    name,
                    format!("{runner} {target}"),
                    file,
                ));
            }
        }
    }
    proposals
}

/// The task file above usually runs those below it.
fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    RUNNERS
        .iter()
        .any(|(_, files)| above.first(files).is_some())
}

/// Whether a line declares the target: its name and a colon, as in `test: build` or `test filter="":`, but not `test :=
/// 1`.
fn declares(text: &str, target: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix('@').unwrap_or(line);
        let rest = line.strip_prefix(target).unwrap_or_default();
        let ends_name = rest.starts_with([':', ' ']);
        let colon = rest.find(':').map(|colon| &rest[colon + 1..]);
        ends_name && colon.is_some_and(|after| !after.starts_with('='))
    })
}
