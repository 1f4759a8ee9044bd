//! Composer projects: PHPUnit, Pest; PHPStan, Psalm, PHP_CodeSniffer.

use serde_json::Value;

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers: |_, _| false,
    fills_gaps: false,
};

const MANIFEST: &str = "composer.json";

/// Settings files, and the tool in `vendor/bin` that each belongs to.
const TOOLS: [(&[&str], CheckRole, &str, &str); 3] = [
    (
        &["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"],
        CheckRole::Types,
        "phpstan",
        "analyse",
    ),
    (
        &["psalm.xml", "psalm.xml.dist"],
        CheckRole::Types,
        "psalm",
        "",
    ),
    (
        &[
            "phpcs.xml",
            "phpcs.xml.dist",
            ".phpcs.xml",
            ".phpcs.xml.dist",
        ],
        CheckRole::Lint,
        "phpcs",
        "",
    ),
];

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(manifest) = at.text(MANIFEST) else {
        return Vec::new();
    };
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let requires = |package: &str| {
        ["require", "require-dev"]
            .iter()
            .any(|list| manifest[list].get(package).is_some())
    };
    let settings = at.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    let has_phpunit = settings.is_some() || requires("phpunit/phpunit");
    let has_script = manifest["scripts"].get("test").is_some();
    let candidates = [
        has_script.then_some(("composer test", MANIFEST)),
        requires("pestphp/pest").then_some(("vendor/bin/pest", MANIFEST)),
        has_phpunit.then_some(("vendor/bin/phpunit", settings.unwrap_or(MANIFEST))),
        // PHPUnit of the system.
        settings.map(|settings| ("phpunit", settings)),
    ];
    let candidates = candidates.into_iter().flatten();
    let propose = |role, name: &str, command: &str, found_in: &str| {
        let proposal = Proposal::new(at, role, name, command, found_in);
        proposal.with_install(Some("composer install".to_owned()))
    };
    let tests =
        candidates.map(|(command, found_in)| propose(CheckRole::Test, "tests", command, found_in));
    let tests = Proposal::first_usable(tests);
    let tool = |(settings, role, name, arguments): &(&[&str], CheckRole, &str, &str)| {
        let settings = at.first(settings)?;
        let command = format!("vendor/bin/{name} {arguments}");
        Some(propose(*role, name, command.trim_end(), settings))
    };
    tests
        .into_iter()
        .chain(TOOLS.iter().filter_map(tool))
        .collect()
}
