//! Reads the files that detection needs from disk.

use std::io::Read;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::ci::is_ci_file;
use super::files::RepositoryFiles;

/// How deep below the root manifests are searched for.
const MAX_DEPTH: usize = 4;

/// A larger manifest or lock file is truncated.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Limit for the number of files: the manifests that matter are near the root.
const MAX_FILES: usize = 50_000;

/// Directories of third-party projects, build output, and projects that are not for use.
const SKIPPED_DIRS: [&str; 29] = [
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
    "fixture",
    "template",
    "templates",
    "example",
    "examples",
    "samples",
    "demo",
    "demos",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "fuzz",
    "doc",
    "docs",
];

/// Directories of a project's own programs, in the directory that shows that dependencies are installed.
const PROGRAM_DIRS: [(&str, &str); 3] = [
    (".venv", ".venv/bin"),
    ("venv", "venv/bin"),
    ("node_modules", "node_modules/.bin"),
];

/// Hidden directories that contain configuration.
const HIDDEN_DIRS_READ: [&str; 4] = [".config", ".github", ".circleci", ".husky"];

/// Files whose text is read.
const MANIFESTS: [&str; 33] = [
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
    "Pipfile.lock",
    "pdm.lock",
    "poetry.lock",
    "uv.lock",
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

/// Lists a repository's files without those that git ignores. Skips what cannot be read.
pub(super) fn read_repository(root: &Path) -> RepositoryFiles {
    let mut files = RepositoryFiles::default();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(is_project_entry)
        .build();
    let regular = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    for entry in regular.take(MAX_FILES) {
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let Some(path) = path {
            let is_read =
                is_ci_file(path) || MANIFESTS.iter().any(|name| entry.file_name() == *name);
            let text = if is_read { read_manifest(&entry) } else { None };
            files.insert(path.to_owned(), text);
        }
    }
    for path in installed_programs(root, &files) {
        files.insert(path, None);
    }
    files
}

/// The paths of the directories with installed dependencies, and of the programs in them.
fn installed_programs(root: &Path, files: &RepositoryFiles) -> Vec<String> {
    let mut paths = Vec::new();
    for directory in files.directories() {
        let at = |path: &str| match directory {
            "" => path.to_owned(),
            directory => format!("{directory}/{path}"),
        };
        for (installed, programs) in PROGRAM_DIRS {
            if !root.join(at(installed)).is_dir() {
                continue;
            }
            paths.push(at(installed));
            let names = std::fs::read_dir(root.join(at(programs)))
                .into_iter()
                .flatten();
            let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            paths.extend(names.map(|name| format!("{}/{name}", at(programs))));
        }
    }
    paths
}

fn is_project_entry(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    match entry.file_name().to_str() {
        _ if entry.depth() == 0 || !is_directory => true,
        // Of `.github`, only the workflows matter.
        Some(name) if is_in(entry, ".github") => name == "workflows",
        Some(name) if name.starts_with('.') => HIDDEN_DIRS_READ.contains(&name),
        Some(name) => !SKIPPED_DIRS.contains(&name),
        None => false,
    }
}

fn is_in(entry: &DirEntry, directory: &str) -> bool {
    let parent = entry.path().parent();
    parent.is_some_and(|parent| parent.ends_with(directory))
}

fn read_manifest(entry: &DirEntry) -> Option<String> {
    let mut text = Vec::new();
    let file = std::fs::File::open(entry.path()).ok()?;
    file.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
