//! The package managers, and how each runs a script or a tool.

use super::package::PackageJson;
use crate::init::files::RepositoryDirectory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageManager {
    Npm,
    Pnpm,
    /// Version 1.
    YarnClassic,
    /// Version 2 and later.
    Yarn,
    Bun,
}

const LOCKFILES: [(&str, PackageManager); 6] = [
    ("pnpm-lock.yaml", PackageManager::Pnpm),
    ("bun.lock", PackageManager::Bun),
    ("bun.lockb", PackageManager::Bun),
    (".yarnrc.yml", PackageManager::Yarn),
    ("yarn.lock", PackageManager::YarnClassic),
    ("package-lock.json", PackageManager::Npm),
];

impl PackageManager {
    /// The package manager of the nearest directory that has one, from `at` upwards. The manifest takes precedence over
    /// lock files.
    pub(super) fn detect(at: &RepositoryDirectory<'_>) -> Self {
        let manager_of = |at: &RepositoryDirectory<'_>| {
            let package = PackageJson::read(at).unwrap_or_default();
            let declared = package.manager.as_deref().and_then(Self::parse_declared);
            let locked = || {
                LOCKFILES
                    .iter()
                    .find(|(file, _)| at.has(file))
                    .map(|(_, manager)| *manager)
            };
            declared.or_else(locked)
        };
        manager_of(at)
            .or_else(|| at.ancestors().find_map(|above| manager_of(&above)))
            .unwrap_or(Self::Npm)
    }

    /// Parses `packageManager`, for example `pnpm@9.1.0+sha512…`.
    fn parse_declared(package_manager: &str) -> Option<Self> {
        let (name, version) = package_manager
            .split_once('@')
            .unwrap_or((package_manager, ""));
        match name {
            "npm" => Some(Self::Npm),
            "pnpm" => Some(Self::Pnpm),
            "yarn" if version.starts_with("1.") => Some(Self::YarnClassic),
            "yarn" => Some(Self::Yarn),
            "bun" => Some(Self::Bun),
            _ => None,
        }
    }

    /// The command that runs a script of the package.
    pub(super) fn run(self, script: &str) -> String {
        match self {
            Self::Npm if script == "test" => "npm test".to_owned(),
            // `bun test` would run Bun's test runner.
            Self::Bun => format!("bun run {script}"),
            _ => format!("{} run {script}", self.program()),
        }
    }

    /// The command that runs a script in every package of the workspace that has it.
    pub(super) fn run_in_members(self, script: &str) -> String {
        match self {
            Self::Npm => format!("npm run {script} --workspaces --if-present"),
            Self::Pnpm => format!("pnpm --recursive run {script}"),
            Self::YarnClassic => format!("yarn workspaces run {script}"),
            Self::Yarn => format!("yarn workspaces foreach --all run {script}"),
            Self::Bun => format!("bun run --filter '*' {script}"),
        }
    }

    /// The command that runs a program of a dependency, without downloading one.
    pub(super) fn exec(self, command: &str) -> String {
        match self {
            Self::Npm => format!("npx --no-install {command}"),
            Self::Pnpm => format!("pnpm exec {command}"),
            Self::YarnClassic | Self::Yarn | Self::Bun => {
                format!("{} run {command}", self.program())
            }
        }
    }

    /// The command that installs the dependencies.
    pub(super) fn install(self) -> String {
        format!("{} install", self.program())
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::YarnClassic | Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }
}
