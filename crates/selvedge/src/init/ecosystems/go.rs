//! Go modules.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

const LINTER_SETTINGS: [&str; 4] = [
    ".golangci.yml",
    ".golangci.yaml",
    ".golangci.toml",
    ".golangci.json",
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let (packages, manifest) = if let Some(workspace) = at.text("go.work") {
        (packages(workspace), "go.work")
    } else if at.has("go.mod") {
        (" ./...".to_owned(), "go.mod")
    } else {
        return propose_without_module(at);
    };
    let propose = |role, name, command, found_in| Proposal::new(at, role, name, command, found_in);
    let mut proposals = vec![
        propose(
            CheckRole::Test,
            "tests",
            format!("go test{packages}"),
            manifest,
        ),
        propose(
            CheckRole::Lint,
            "vet",
            format!("go vet{packages}"),
            manifest,
        )
        .guessed(),
    ];
    if let Some(settings) = at.first(&LINTER_SETTINGS) {
        let command = format!("golangci-lint run{packages}");
        proposals.push(propose(CheckRole::Lint, "golangci-lint", command, settings));
    }
    proposals
}

/// The check of a repository that is older than modules: cannot run until there is one, as a note explains.
fn propose_without_module(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let test = at.names().find(|name| name.ends_with("_test.go"));
    let proposal = test.filter(|_| at.path.is_empty()).map(|test| {
        let install = "go mod init MODULE".to_owned();
        Proposal::new(at, CheckRole::Test, "tests", "go test ./...", test)
            .with_install(Some(install))
    });
    proposal.into_iter().collect()
}

fn covers(above: &RepositoryDirectory<'_>, below: &RepositoryDirectory<'_>) -> bool {
    let path = below.path_from(above);
    above.text("go.work").is_some_and(|workspace| {
        modules(workspace).any(|module| module.trim_start_matches("./") == path)
    })
}

/// Arguments for all packages of a workspace; no single pattern matches them.
fn packages(workspace: &str) -> String {
    let patterns: Vec<_> = modules(workspace)
        .map(|module| format!(" {module}/..."))
        .collect();
    patterns.concat()
}

/// The modules that a `go.work` uses: one per line, or several in a block.
fn modules(workspace: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    workspace.lines().filter_map(move |line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        match line {
            "use (" => in_block = true,
            ")" => in_block = false,
            _ if in_block => return Some(line).filter(|line| !line.is_empty()),
            _ => return line.strip_prefix("use ").map(str::trim),
        }
        None
    })
}
