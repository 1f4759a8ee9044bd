//! Packages of npm, pnpm, Yarn and Bun: their scripts, or else the tools that are set up. The root of a workspace
//! covers its members.

mod package;
mod package_manager;

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};
use package::{MANIFEST, PackageJson};
use package_manager::PackageManager;

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers,
    fills_gaps: false,
};

/// Script names, preferred ones first.
const SCRIPTS: [(CheckRole, &str, &[&str]); 4] = [
    (
        CheckRole::Test,
        "tests",
        &["test", "tests", "test:unit", "unit"],
    ),
    (
        CheckRole::Types,
        "types",
        &[
            "typecheck",
            "type-check",
            "check-types",
            "check:types",
            "types",
            "tsc",
        ],
    ),
    (
        CheckRole::Lint,
        "lint",
        &["lint", "lint:check", "eslint", "biome"],
    ),
    (
        CheckRole::Format,
        "format",
        &[
            "format:check",
            "format-check",
            "fmt:check",
            "check-format",
            "prettier:check",
        ],
    ),
];

const ESLINT: [&str; 11] = [
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
    ".eslintrc",
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(package) = PackageJson::read(at) else {
        return Vec::new();
    };
    let manager = PackageManager::detect(at);
    let members = package::workspace_members(at);
    let proposal = |(role, name, scripts): &(CheckRole, &str, &[&str])| {
        let package_script = package
            .script(scripts)
            .map(|script| (manager.run(script), MANIFEST));
        let member_script = || {
            let script = members.iter().find_map(|member| member.script(scripts))?;
            Some((manager.run_in_members(script), MANIFEST))
        };
        let (command, found_in) = package_script
            .or_else(member_script)
            .or_else(|| tool_command(at, &package, manager, *role))?;
        let install = missing_install(at, manager);
        Some(Proposal::new(at, *role, name, command, found_in).with_install(install))
    };
    SCRIPTS.iter().filter_map(proposal).collect()
}

fn covers(above: &RepositoryDirectory<'_>, below: &RepositoryDirectory<'_>) -> bool {
    package::is_member(above, below)
}

/// The command that installs the dependencies, if they are not installed.
fn missing_install(at: &RepositoryDirectory<'_>, manager: PackageManager) -> Option<String> {
    let has = |name| at.has(name) || at.ancestors().any(|above| above.has(name));
    let is_installed = has("node_modules") || has(".pnp.cjs");
    (!is_installed).then(|| manager.install())
}

/// The tool for a role that has no script.
fn tool_command(
    at: &RepositoryDirectory<'_>,
    package: &PackageJson,
    manager: PackageManager,
    role: CheckRole,
) -> Option<(String, &'static str)> {
    let exec = |command: &str, found_in| {
        let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
        let command = match at.installed_program("node_modules/.bin", program) {
            Some(program) => format!("{program} {arguments}").trim_end().to_owned(),
            None => manager.exec(command),
        };
        Some((command, found_in))
    };
    match role {
        CheckRole::Test if package.depends_on("vitest") => exec("vitest run", MANIFEST),
        CheckRole::Test if package.depends_on("jest") => exec("jest", MANIFEST),
        CheckRole::Types if at.has("tsconfig.json") && package.depends_on("typescript") => {
            let composite = at.text_or_empty("tsconfig.json").contains("\"references\"");
            exec(
                if composite {
                    "tsc --build"
                } else {
                    "tsc --noEmit"
                },
                "tsconfig.json",
            )
        }
        CheckRole::Lint => match (at.first(&["biome.json", "biome.jsonc"]), at.first(&ESLINT)) {
            (Some(biome), _) => exec("biome check .", biome),
            (None, Some(eslint)) => exec("eslint .", eslint),
            (None, None) => None,
        },
        CheckRole::Test | CheckRole::Types | CheckRole::Format => None,
    }
}
