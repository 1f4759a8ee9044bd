//! Tells failures of the code from failures of the environment: a check that cannot pass on this machine is not one that
//! an agent can repair.

use std::path::Path;

use selvedge_core::model::{CheckReport, FailureKind};

/// Parts of lines by which tools report a missing program or package, or a machine that cannot run them.
const ENVIRONMENT_PROBLEMS: [&str; 28] = [
    "command not found",
    "Command not found",
    // The shell's exit code for a program that it does not find, as make reports it.
    "] Error 127",
    "Failed to spawn:",
    "is not installed",
    "no such command:",
    "No such command",
    "Missing script",
    "could not determine executable to run",
    "npx canceled",
    "node_modules missing",
    "Couldn't find the node_modules",
    "could not find package",
    "Could not find gem",
    "run `bundle install`",
    "Run `bundle install`",
    "mix deps.get",
    "vendor/autoload.php",
    "JAVA_HOME is not set",
    "Unable to locate a Java Runtime",
    "Unsupported engine",
    "missing go.sum entry",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "getaddrinfo",
    "Connection refused",
    "ECONNREFUSED",
    "Read-only file system",
];

/// Files in which task runners and tools find their commands and settings.
const SETTINGS_FILES: [&str; 14] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "package.json",
    "tsconfig.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "go.mod",
    "pom.xml",
    "composer.json",
];

/// Directories of installed dependencies.
const INSTALLED: [&str; 3] = ["node_modules/", "venv/", "site-packages/"];

/// Phrases before the quoted name of a module that was not found.
const MISSING_MODULES: [&str; 4] = [
    "No module named ",
    "Cannot find module ",
    "Cannot find package ",
    "Failed to resolve import ",
];

/// The line with which a tool reports a problem of the environment. `dir` is the directory that the check ran in.
pub(super) fn find_environment_problem<'a>(output: &'a str, dir: &Path) -> Option<&'a str> {
    output.lines().map(str::trim).find(|line| {
        ENVIRONMENT_PROBLEMS
            .iter()
            .any(|problem| line.contains(problem))
            || is_missing_dependency(line, dir)
    })
}

/// Whether the line reports a missing module that is not part of the project.
fn is_missing_dependency(line: &str, dir: &Path) -> bool {
    let module = MISSING_MODULES.iter().find_map(|phrase| {
        let (_, rest) = line.split_once(phrase)?;
        let name = rest.trim_start_matches(['\'', '"', '`']);
        name.split(['\'', '"', '`', ' ', ';', ',']).next()
    });
    let Some(module) = module.filter(|module| !module.is_empty()) else {
        return false;
    };
    if module.starts_with(['.', '/', '~', '#']) || module.starts_with("@/") {
        return module.contains("node_modules");
    }
    let top = module.split(['.', '/']).next().unwrap_or(module);
    let is_own =
        |folder: &Path| folder.join(top).exists() || folder.join(top).with_extension("py").exists();
    !is_own(dir) && !is_own(&dir.join("src"))
}

/// Whether the report shows failed tests or findings in source code, or names a source file.
pub(super) fn shows_failures_of_code(report: &CheckReport, dir: &Path) -> bool {
    let failed_tests = report.tests.as_ref().map_or(0, |tests| tests.failed);
    let in_code = report.failures.iter().any(|failure| {
        let is_finding = matches!(
            failure.kind,
            FailureKind::Compile | FailureKind::Test | FailureKind::Lint | FailureKind::Type
        );
        is_finding && !failure.file.as_deref().is_some_and(is_settings_file)
    });
    failed_tests > 0 || in_code || names_source_file(&report.output, dir)
}

/// Whether the output contains the path of a file in `dir` that is not a settings file or an installed dependency.
fn names_source_file(output: &str, dir: &Path) -> bool {
    let words = output.split(|c: char| c.is_whitespace() || "'\"`()[]{}<>:,;".contains(c));
    let mut paths = words.filter(|word| word.contains('.') && !word.starts_with('-'));
    paths.any(|path| {
        let is_installed = INSTALLED.iter().any(|folder| path.contains(folder));
        let file = dir.join(path);
        !is_installed && !is_settings_file(path) && file.starts_with(dir) && file.is_file()
    })
}

/// Whether a tool names the file because it reads its settings or commands there.
fn is_settings_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with('.') || name.contains(".config.") || SETTINGS_FILES.contains(&name)
}
