//! .NET solutions and projects.

use std::path::Path;

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(project) = first_with(at, &["sln", "slnx"])
        .or_else(|| first_with(at, &["csproj", "fsproj", "vbproj"]).filter(|name| is_test(name)))
    else {
        return Vec::new();
    };
    vec![Proposal::new(
        at,
        CheckRole::Test,
        "tests",
        "dotnet test",
        project,
    )]
}

fn covers(above: &RepositoryDirectory<'_>, _: &RepositoryDirectory<'_>) -> bool {
    first_with(above, &["sln", "slnx"]).is_some()
}

fn first_with<'a>(at: &RepositoryDirectory<'a>, extensions: &[&str]) -> Option<&'a str> {
    let has_one = |name: &&str| {
        let extension = Path::new(name)
            .extension()
            .and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    at.names().find(has_one)
}

/// Whether a project without a solution is a test project; other projects have nothing to run.
fn is_test(project: &str) -> bool {
    project.contains("Test") || project.contains("Spec")
}
