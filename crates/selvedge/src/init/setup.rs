//! Proposes the commands that install dependencies, from the lock files at the repository's root.

use super::files::RepositoryFiles;

/// A command that installs the dependencies of a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetupLine {
    pub(crate) run: &'static str,
    /// The lock file.
    pub(crate) found_in: &'static str,
}

impl SetupLine {
    /// The package manager.
    pub(super) fn program(&self) -> &'static str {
        self.run.split(' ').next().unwrap_or(self.run)
    }
}

/// Groups of lock files; only the first existing file of each group counts.
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

/// The commands for a repository, one per package manager.
pub(super) fn propose_setup(files: &RepositoryFiles) -> Vec<SetupLine> {
    let root = files.directory("");
    let lines = LOCK_FILES.iter().filter_map(|group| {
        let (found_in, run) = group.iter().find(|(file, _)| root.has(file))?;
        Some(SetupLine { run, found_in })
    });
    lines.collect()
}
