//! Distinguishes failures of the code from failures of the environment: an agent cannot fix a check that cannot pass on
//! this machine.

use std::path::Path;

use selvedge_core::model::{CheckReport, Failure, FailureKind};

/// Parts of lines by which tools report a missing program or package, or a machine that cannot run them.
const ENVIRONMENT_PROBLEMS: [&str; 31] = [
    "command not found",
    "Command not found",
    // The shell's exit code for a program that it does not find, as make reports it.
    "] Error 127",
    "Failed to spawn:",
    "is not installed",
    "is not found in your PATH",
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
    "does not contain main module",
    "go.mod file not found",
    "Could not resolve host",
    "Could not transfer artifact",
    "Temporary failure in name resolution",
    "getaddrinfo",
    "Connection refused",
    "ECONNREFUSED",
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
const MISSING_MODULES: [&str; 5] = [
    "No module named ",
    "cannot load such file -- ",
    "Cannot find module ",
    "Cannot find package ",
    "Failed to resolve import ",
];

/// Parts of lines by which interpreters report that they cannot load a file or a class of the tests.
const LOAD_ERRORS: [&str; 6] = [
    "cannot load such file -- ",
    "Uncaught Error: Class \"",
    "Uncaught Error: Interface \"",
    "Uncaught Error: Trait \"",
    "Uncaught ParseError: ",
    "Failed opening required",
];

/// The class that unittest reports for a module that it could not load.
const UNITTEST_LOAD_ERROR: &str = "unittest.loader._FailedTest";

/// A problem of the environment that a tool reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvironmentProblem<'a> {
    /// The check writes into a directory of installed dependencies, which checks cannot change; the line that shows it.
    WritesDependencies(&'a str),
    /// Another problem; the line that reports it.
    Other(&'a str),
}

/// The first problem of the environment that the output reports. `dir` is the directory that the check ran in.
pub(super) fn find_environment_problem<'a>(
    output: &'a str,
    dir: &Path,
) -> Option<EnvironmentProblem<'a>> {
    output.lines().map(str::trim).find_map(|line| {
        let is_read_only =
            line.contains("EROFS") || line.to_ascii_lowercase().contains("read-only file system");
        // Tools ignore that the directory of their cache could not be created, and then do not find their files in it.
        let misses_cache = line.contains("ENOENT") && line.contains("node_modules/.cache/");
        if misses_cache
            || is_read_only && INSTALLED.iter().any(|directory| line.contains(directory))
        {
            return Some(EnvironmentProblem::WritesDependencies(line));
        }
        let is_problem = is_read_only
            || ENVIRONMENT_PROBLEMS
                .iter()
                .any(|problem| line.contains(problem))
            || is_missing_dependency(line, dir);
        is_problem.then_some(EnvironmentProblem::Other(line))
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
    let is_own = |folder: &str| {
        let path = dir.join(folder).join(top);
        path.exists() || path.with_extension("py").exists() || path.with_extension("rb").exists()
    };
    !["", "src", "lib", "test", "spec"].into_iter().any(is_own)
}

/// The error because of which a check of tests executed none: every failure is a file that could not be loaded.
pub(super) fn find_load_error<'a>(report: &'a CheckReport, dir: &Path) -> Option<&'a str> {
    let Some(tests) = report.tests.as_ref().filter(|tests| tests.failed > 0) else {
        let passed = report
            .tests
            .as_ref()
            .is_some_and(|tests| tests.passed > 0 || tests.by_package);
        let mut lines = report.output.lines().map(str::trim);
        return lines
            .find(|line| LOAD_ERRORS.iter().any(|error| line.contains(error)))
            .filter(|_| !passed);
    };
    let not_loaded = load_errors(report, dir);
    if tests.passed > 0 || tests.by_package || not_loaded.len() as u64 != tests.failed {
        return None;
    }
    let first = *not_loaded.first()?;
    let record = find_record(first, report);
    Some(record.map_or(first, |failure| failure.summary.as_str()))
}

/// The ids of failed tests that are files or modules which could not be loaded: their tests are unknown.
pub(super) fn load_errors<'a>(report: &'a CheckReport, dir: &Path) -> Vec<&'a str> {
    let tests = report.tests.iter();
    let ids = tests.flat_map(|tests| &tests.failed_ids.ids);
    ids.map(String::as_str)
        .filter(|id| is_load_error(id, report, dir))
        .collect()
}

/// Whether a failed test of these runners is a file. Others report a file of tests as one test.
fn is_load_error(id: &str, report: &CheckReport, dir: &Path) -> bool {
    let extension = Path::new(id)
        .extension()
        .and_then(|extension| extension.to_str());
    let record = find_record(id, report);
    let tool = record.and_then(|failure| failure.tool.as_deref());
    let is_suite = || matches!(tool, Some("jest" | "vitest")) && dir.join(id).is_file();
    let is_other_runner = || matches!(tool, Some("automake" | "ctest" | "meson" | "tap" | "prove"));
    let is_source = !id.contains("::") && matches!(extension, Some("py" | "rb" | "php"));
    let record_id = record.and_then(|record| record.id.as_deref());
    let is_module = [Some(id), record_id]
        .into_iter()
        .flatten()
        .any(|id| id.contains(UNITTEST_LOAD_ERROR));
    is_module || is_source && !is_other_runner() || is_suite()
}

/// The record of a failed test; of unittest's report, the name of a module that could not be loaded is its id.
fn find_record<'a>(id: &str, report: &'a CheckReport) -> Option<&'a Failure> {
    let module = format!("{UNITTEST_LOAD_ERROR}.{id}");
    let has_id = |failure: &&Failure| {
        let other = failure.id.as_deref();
        other == Some(id) || other == Some(&module)
    };
    report.failures.iter().find(has_id)
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
pub(super) fn is_settings_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with('.') || name.contains(".config.") || SETTINGS_FILES.contains(&name)
}
