//! Bundler projects: RSpec, Rails, Rake; RuboCop and Standard.

use crate::init::files::RepositoryDirectory;
use crate::init::proposal::{CheckRole, Ecosystem, Proposal};

pub(super) const ECOSYSTEM: Ecosystem = Ecosystem {
    detect,
    covers: |_, _| false,
    fills_gaps: false,
};

const MANIFEST: &str = "Gemfile";

fn detect(at: &RepositoryDirectory<'_>) -> Vec<Proposal> {
    let Some(gems) = at.text(MANIFEST) else {
        return Vec::new();
    };
    let below = |directory: &str| at.paths().any(|path| path.starts_with(directory));
    let has_gem =
        |gem: &str| gems.contains(&format!("\"{gem}\"")) || gems.contains(&format!("'{gem}'"));
    let test = |command, found_in| {
        Some(Proposal::new(
            at,
            CheckRole::Test,
            "tests",
            command,
            found_in,
        ))
    };
    let lint = |name, found_in| {
        Some(Proposal::new(
            at,
            CheckRole::Lint,
            name,
            format!("bundle exec {name}"),
            found_in,
        ))
    };
    let rakefile = at.text_or_empty("Rakefile");
    let rake_tests = rakefile.contains("TestTask") || rakefile.contains("task :test");

    let tests = if at.has(".rspec") || below("spec/") || has_gem("rspec") || has_gem("rspec-rails")
    {
        test(
            "bundle exec rspec",
            if at.has(".rspec") { ".rspec" } else { MANIFEST },
        )
    } else if at.has("bin/rails") && below("test/") {
        test("bin/rails test", "bin/rails")
    } else if rake_tests {
        test("bundle exec rake test", "Rakefile")
    } else {
        None
    };
    let lints = if at.has(".rubocop.yml") {
        lint("rubocop", ".rubocop.yml")
    } else if has_gem("standard") {
        lint("standardrb", MANIFEST)
    } else {
        None
    };
    tests.into_iter().chain(lints).collect()
}
