//! Ruby projects, with or without Bundler: RSpec, Rails, Rake; RuboCop and Standard.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers: |_, _| false,
    fills_gaps: false,
};

const MANIFEST: &str = "Gemfile";

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let gemspec = at.names().find(|name| name.ends_with(".gemspec"));
    let Some(manifest) = at
        .first(&[MANIFEST, "Rakefile", ".rspec"])
        .map(str::to_owned)
        .or_else(|| gemspec.map(str::to_owned))
    else {
        return Vec::new();
    };
    let gems = at.text_or_empty(MANIFEST);
    let below = |directory: &str| at.paths().any(|path| path.starts_with(directory));
    let has_gem =
        |gem: &str| gems.contains(&format!("\"{gem}\"")) || gems.contains(&format!("'{gem}'"));
    let propose = |role, name: &str, command: &str, found_in: &str| {
        let plain = Proposal::new(at, role, name, command, found_in);
        if !at.has(MANIFEST) {
            return plain;
        }
        let bundled = format!("bundle exec {command}");
        let mut proposal = Proposal::new(at, role, name, bundled, found_in);
        // The gems may be those of the system.
        proposal.add_alternative(plain);
        proposal
    };
    let test = |command: &str, found_in: &str| propose(CheckRole::Test, "tests", command, found_in);

    let mut tests = Vec::new();
    if at.has(".rspec") || below("spec/") || has_gem("rspec") || has_gem("rspec-rails") {
        tests.push(test("rspec", at.first(&[".rspec"]).unwrap_or(&manifest)));
    }
    if at.has("bin/rails") && below("test/") {
        let command = "bin/rails test";
        tests.push(Proposal::new(
            at,
            CheckRole::Test,
            "tests",
            command,
            "bin/rails",
        ));
    }
    if let Some(task) = test_task(at.text_or_empty("Rakefile")) {
        tests.push(test(&format!("rake {task}"), "Rakefile"));
    }
    let lint = |name, found_in| propose(CheckRole::Lint, name, name, found_in);
    let lints = if at.has(".rubocop.yml") {
        Some(lint("rubocop", ".rubocop.yml"))
    } else if has_gem("standard") {
        Some(lint("standardrb", MANIFEST))
    } else {
        None
    };
    Proposal::first_usable(tests)
        .into_iter()
        .chain(lints)
        .collect()
}

/// The task of a Rakefile that runs tests: the name of its `Rake::TestTask`, or else a task `test`.
fn test_task(rakefile: &str) -> Option<String> {
    let named = rakefile.split_once("TestTask.new").map(|(_, rest)| {
        let rest = rest.trim_start_matches(['(', ' ']);
        let name = rest.strip_prefix([':', '"', '\'']).unwrap_or_default();
        let end = name.find(|c: char| !c.is_alphanumeric() && !"_:-".contains(c));
        let name = &name[..end.unwrap_or(name.len())];
        if name.is_empty() {
            "test"
        } else {
            name.trim_end_matches(':')
        }
    });
    let task = || {
        let mut lines = rakefile.lines().map(str::trim_start);
        lines
            .any(|line| {
                let name = line.strip_prefix("task ").map(str::trim_start);
                let name = name.map(|name| name.trim_start_matches([':', '"', '\'']));
                let rest = name.and_then(|name| name.strip_prefix("test"));
                rest.is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            })
            .then_some("test")
    };
    named.or_else(task).map(str::to_owned)
}
