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

/// Programs that run tests, or measure the coverage of a program that does.
const TEST_RUNNERS: [&str; 12] = [
    "ava", "borp", "c8", "jasmine", "jest", "mocha", "nyc", "qunit", "tap", "tape", "uvu", "vitest",
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
    let install = missing_install(at, manager);
    let proposal = |(role, name, scripts): &(CheckRole, &str, &[&str])| {
        let mut own: Vec<&str> = package.scripts(scripts).collect();
        // It may fail today because of a test, before it would need what is missing.
        own.sort_by_key(|script| package.lacks_program(at, script));
        let of_members = members
            .iter()
            .find_map(|member| member.scripts(scripts).next());
        let of_members = of_members.filter(|_| own.is_empty());
        let mut commands: Vec<(String, &str)> = own
            .iter()
            .map(|script| manager.run(script))
            .chain(of_members.map(|script| manager.run_in_members(script)))
            .map(|command| (command, MANIFEST))
            .collect();
        if commands.is_empty() {
            commands.extend(tool_command(at, &package, manager, *role));
        } else if *role == CheckRole::Test {
            // A script that also runs a linter that is missing here, for example.
            let parts = own.iter().flat_map(|script| package.commands(script));
            let runners = parts.filter_map(|part| installed_runner(at, part));
            let runners: Vec<String> = runners.collect();
            let plain = runners
                .iter()
                .filter_map(|command| without_options(command));
            let plain: Vec<String> = plain.collect();
            let runners = runners.into_iter().chain(plain);
            commands.extend(runners.map(|command| (command, MANIFEST)));
        }
        let proposals = commands.into_iter().map(|(command, found_in)| {
            Proposal::new(at, *role, name, command, found_in).with_install(install.clone())
        });
        Proposal::first_usable(proposals)
    };
    SCRIPTS.iter().filter_map(proposal).collect()
}

/// The part of a script's command that runs tests, with the path of its program if that is installed: of `cross-env CI=1
/// jest --ci`, all but the first word.
fn installed_runner(at: &RepositoryDirectory<'_>, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_runner = |index: usize| match words[index] {
        "node" => words[index..].contains(&"--test"),
        word => TEST_RUNNERS.contains(&word),
    };
    let start = (0..words.len()).find(|index| is_runner(*index))?;
    let (program, arguments) = words[start..].split_first()?;
    let program = match *program {
        "node" => "node".to_owned(),
        program => at.installed_program("node_modules/.bin", program)?,
    };
    let before = &words[..start];
    let variables = before.strip_prefix(&["cross-env"]).unwrap_or(before);
    let has_variables = variables.first().is_some_and(|word| word.contains('='));
    let variables = variables.iter().copied().filter(|_| has_variables);
    let words = variables.chain([program.as_str()]);
    let words = words.chain(arguments.iter().copied());
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The command of a runner that needs no options, without those that it has: `vitest run --typecheck` writes into
/// `node_modules`, for example.
fn without_options(command: &str) -> Option<String> {
    let (plain, _) = command.split_once(" -")?;
    let program = plain.rsplit(' ').find(|word| word.contains('/'));
    let program = program.unwrap_or_default();
    let is_known = program.ends_with("/vitest") || program.ends_with("/jest");
    is_known.then(|| plain.to_owned())
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
