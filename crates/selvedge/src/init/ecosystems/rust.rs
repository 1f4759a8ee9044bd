//! Cargo.

use toml::Table;

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFEST: &str = "Cargo.toml";

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(manifest) = manifest(at) else {
        return Vec::new();
    };
    if is_fuzz_crate(&manifest) {
        return Vec::new();
    }
    let is_workspace = manifest.contains_key("workspace");
    let (workspace, all) = if is_workspace {
        (" --workspace", " --all")
    } else {
        ("", "")
    };
    let tests = if at.has(".config/nextest.toml") {
        "cargo nextest run"
    } else {
        "cargo test"
    };
    let propose = |role, name, command| Proposal::new(at, role, name, command, MANIFEST);
    vec![
        propose(CheckRole::Test, "tests", format!("{tests}{workspace}")),
        propose(
            CheckRole::Lint,
            "clippy",
            format!("cargo clippy{workspace} --all-targets -- -D warnings"),
        )
        .guessed(),
        propose(
            CheckRole::Format,
            "format",
            format!("cargo fmt{all} --check"),
        )
        .guessed(),
    ]
}

/// Cargo rejects a package below a workspace that is neither a member nor excluded, so every other package is a member.
fn covers(above: &RepositoryDirectory<'_>, below: &RepositoryDirectory<'_>) -> bool {
    let Some(root) = manifest(above) else {
        return false;
    };
    let Some(workspace) = root.get("workspace") else {
        return false;
    };
    let path = below.path_from(above);
    let excluded = workspace
        .get("exclude")
        .and_then(|exclude| exclude.as_array());
    let is_excluded = excluded
        .into_iter()
        .flatten()
        .filter_map(|glob| glob.as_str())
        .any(|dir| {
            let dir = dir.trim_end_matches('/');
            path.strip_prefix(dir)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    let is_root_itself = manifest(below).is_some_and(|below| below.contains_key("workspace"));
    !is_excluded && !is_root_itself
}

/// Whether `cargo fuzz` created the crate: its programs do not end.
fn is_fuzz_crate(manifest: &Table) -> bool {
    let metadata = manifest
        .get("package")
        .and_then(|package| package.get("metadata"));
    metadata.is_some_and(|metadata| metadata.get("cargo-fuzz").is_some())
}

fn manifest(at: &RepositoryDirectory<'_>) -> Option<Table> {
    at.text(MANIFEST)?.parse().ok()
}
