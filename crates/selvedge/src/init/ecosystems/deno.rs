//! Deno.

use serde_json::Value;

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const MANIFESTS: [&str; 2] = ["deno.json", "deno.jsonc"];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(name) = at.first(&MANIFESTS) else {
        return Vec::new();
    };
    let manifest = manifest(at);
    let task = |task: &str, otherwise: &str| match manifest["tasks"].get(task) {
        Some(_) => format!("deno task {task}"),
        None => otherwise.to_owned(),
    };
    vec![
        Proposal::new(
            at,
            CheckRole::Test,
            "tests",
            task("test", "deno test"),
            name,
        ),
        Proposal::new(at, CheckRole::Lint, "lint", task("lint", "deno lint"), name),
        Proposal::new(at, CheckRole::Format, "format", "deno fmt --check", name),
    ]
}

fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    manifest(above).get("workspace").is_some()
}

/// Parses the manifest. One with comments, which is rare, counts as empty.
fn manifest(at: &RepositoryDirectory<'_>) -> Value {
    let text = at
        .first(&MANIFESTS)
        .and_then(|name| at.text(name))
        .unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}
