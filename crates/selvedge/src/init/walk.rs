//! Reads from disk what detection needs, and no more.

use std::io::Read;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::files::Files;

/// How far below the root manifests are looked for.
const DEEPEST: usize = 4;

/// A manifest larger than this is generated; it is treated as an empty one.
const LARGEST_MANIFEST: u64 = 256 << 10;

/// More files than this are not looked at: every manifest that matters stands further up.
const MOST_FILES: usize = 50_000;

/// Directories that hold other people's projects, products of a build, or projects that only exist
/// to be tested or copied.
const SKIPPED: [&str; 16] = [
    "node_modules",
    "bower_components",
    "vendor",
    "third_party",
    "target",
    "build",
    "dist",
    "out",
    "venv",
    "env",
    "__pycache__",
    "testdata",
    "fixtures",
    "__fixtures__",
    "templates",
    "examples",
];

/// Hidden directories that hold configuration.
const LOOKED_INTO: [&str; 1] = [".config"];

/// Files whose text is read.
const MANIFESTS: [&str; 29] = [
    "Cargo.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "tsconfig.json",
    "deno.json",
    "deno.jsonc",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "setup.py",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "Pipfile",
    "go.work",
    "pom.xml",
    "mix.exs",
    "Gemfile",
    "Rakefile",
    "composer.json",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    "CMakeLists.txt",
];

/// The files of a repository, without those that git ignores. What cannot be read is not there.
pub(super) fn read(root: &Path) -> Files {
    let mut files = Files::default();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .max_depth(Some(DEEPEST))
        .filter_entry(is_of_the_project)
        .build();
    let regular = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    for entry in regular.take(MOST_FILES) {
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let Some(path) = path {
            files.insert(path.to_owned(), manifest(&entry));
        }
    }
    files
}

fn is_of_the_project(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    match entry.file_name().to_str() {
        _ if entry.depth() == 0 || !is_directory => true,
        Some(name) if name.starts_with('.') => LOOKED_INTO.contains(&name),
        Some(name) => !SKIPPED.contains(&name),
        None => false,
    }
}

fn manifest(entry: &DirEntry) -> Option<String> {
    if !MANIFESTS.iter().any(|name| entry.file_name() == *name) {
        return None;
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(entry.path()).ok()?;
    file.take(LARGEST_MANIFEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
