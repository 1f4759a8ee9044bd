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
        let install = Some("bundle install".to_owned());
        let mut proposal =
            Proposal::new(at, role, name, bundled, found_in).with_install(install.clone());
        // The gems may be those of the system.
        proposal.add_alternative(plain.with_install(install));
        proposal
    };
    let test = |command: &str, found_in: &str| propose(CheckRole::Test, "tests", command, found_in);

    let mut tests = Vec::new();
    let uses_rspec = at.has(".rspec") || has_gem("rspec") || has_gem("rspec-rails");
    let rspec = || test("rspec", at.first(&[".rspec"]).unwrap_or(&manifest));
    if uses_rspec {
        tests.push(rspec());
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
    // The files may be those of minitest, which a task runs.
    if !uses_rspec && below("spec/") {
        tests.push(rspec());
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

/// The task of a Rakefile that runs tests: one that a library for tests defines, or else one with a usual name.
fn test_task(rakefile: &str) -> Option<String> {
    const DEFINITIONS: [(&str, &str); 3] = [
        ("RSpec::Core::RakeTask.new", "spec"),
        ("Minitest::TestTask.create", "test"),
        ("TestTask.new", "test"),
    ];
    let defined = DEFINITIONS.iter().find_map(|(definition, default)| {
        let (_, rest) = rakefile.split_once(definition)?;
        Some(task_name(rest).unwrap_or(default))
    });
    let tasks = || {
        let lines = rakefile.lines().map(str::trim_start);
        let tasks = lines.filter_map(|line| task_name(line.strip_prefix("task")?));
        tasks.collect::<Vec<_>>()
    };
    let usual = || {
        let tasks = tasks();
        let mut usual = ["test", "spec", "tests", "specs"].into_iter();
        usual.find(|name| tasks.contains(name))
    };
    defined.or_else(usual).map(str::to_owned)
}

/// The name with which the arguments of a task definition begin: of `(:spec)`, ` "spec" do` and ` spec: %i[build]`, `spec`.
fn task_name(arguments: &str) -> Option<&str> {
    let name = arguments.trim_start_matches(['(', ' ', '\t']);
    // Without a space or parenthesis, it is part of another word.
    if name.len() == arguments.len() {
        return None;
    }
    let quoted = name.strip_prefix([':', '"', '\'']);
    let rest = quoted.unwrap_or(name);
    let end = rest.find(|c: char| !c.is_alphanumeric() && !"_:-".contains(c));
    let name = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
    let is_key = || rest[name.len()..].starts_with(':');
    (!name.is_empty() && (quoted.is_some() || is_key())).then_some(name)
}
