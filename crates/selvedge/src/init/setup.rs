//! What installs the dependencies of a repository, by the lock files at its root.

use super::files::RepositoryFiles;

/// A command line that installs what a lock file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetupLine {
    /// The command line.
    pub(crate) run: &'static str,
    /// The lock file.
    pub(crate) found_in: &'static str,
}

/// Groups of lock files, of which the first that is there counts.
const LOCK_FILES: [&[(&str, &str)]; 5] = [
    &[
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("bun.lock", "bun install --frozen-lockfile"),
        ("bun.lockb", "bun install --frozen-lockfile"),
        ("yarn.lock", "yarn install --frozen-lockfile"),
        ("package-lock.json", "npm ci"),
        ("npm-shrinkwrap.json", "npm ci"),
    ],
    &[
        ("uv.lock", "uv sync --locked"),
        ("poetry.lock", "poetry install"),
        ("pdm.lock", "pdm sync"),
        ("Pipfile.lock", "pipenv sync --dev"),
    ],
    &[("Gemfile.lock", "bundle install")],
    &[("composer.lock", "composer install")],
    &[("mix.lock", "mix deps.get")],
];

/// The lines that fit a repository, a line for each of its package managers.
pub(super) fn propose_setup(files: &RepositoryFiles) -> Vec<SetupLine> {
    let root = files.directory("");
    let found = LOCK_FILES.iter().filter_map(|group| {
        let (found_in, run) = group.iter().find(|(file, _)| root.has(file))?;
        Some(SetupLine { run, found_in })
    });
    found.collect()
}
