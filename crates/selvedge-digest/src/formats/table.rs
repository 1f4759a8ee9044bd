//! One row per format: its line starts and signals. A format sees only lines that its row names.

use super::{
    FormatParser, alcotest, ant, ava, bazel, bundler, cabal, catch2, cmake, ctest, diagnostic,
    dialyzer, docker, doctest, ghc, git, github, go, go_json, golangci, gradle, grouped_lint,
    gtest, hspec, jasmine, jest, json, junit_console, karma, libtest, linker, make, maven, mix,
    nextest, node_test, numbered_list, nunit, ocaml, package_managers, php, pip, playwright, prove,
    pytest, python, rubocop, ruby, rustc, shell, surefire, swift_testing, tap, terraform, testdox,
    testng, tsc, unittest, vitest, xctest, xml,
};
use crate::line::LineSignals;

/// A row of the table.
pub(super) struct FormatRow {
    /// Name, for selecting a single format.
    pub(super) name: &'static str,
    /// Beginnings of lines (after the indentation) that the format must see; `0` matches any digit. Only
    /// their first bytes count, see [`prefilter`](super::prefilter).
    pub(super) line_starts: &'static [&'static str],
    /// Signals of lines that the format must also see.
    pub(super) signals: LineSignals,
    /// Whether each failure is one line: very many of them are not read.
    pub(super) one_liners: bool,
    pub(super) make: fn() -> Box<dyn FormatParser>,
}

const fn format_row<F: FormatParser + Default + 'static>(
    name: &'static str,
    begins: &'static [&'static str],
    signals: LineSignals,
) -> FormatRow {
    FormatRow {
        name,
        line_starts: begins,
        signals,
        one_liners: false,
        make: || Box::<F>::default(),
    }
}

impl FormatRow {
    const fn one_liners(self) -> Self {
        Self {
            one_liners: true,
            ..self
        }
    }
}

/// Earlier rows see a line first, because text inside a document can look like any other format. There is
/// room for 64 rows.
pub(super) static TABLE: &[FormatRow] = &[
    format_row::<json::JsonParser>("json", &["{", "["], LineSignals::NONE),
    format_row::<xml::XmlParser>("xml", &["<", "\u{feff}"], LineSignals::NONE),
    format_row::<git::GitParser>(
        "git",
        &["CONFLICT", "error: ", "fatal: "],
        LineSignals::NONE,
    )
    .one_liners(),
    format_row::<mix::MixParser>(
        "mix",
        &["** (", "error: ", "warning: ", "The following files"],
        LineSignals::LOCATION,
    ),
    format_row::<docker::DockerParser>(
        "docker",
        &[
            "#0",
            "Step ",
            "The command",
            "COPY failed",
            "ADD failed",
            "Error",
            "ERROR",
            "dockerfile",
        ],
        LineSignals::FAIL,
    ),
    format_row::<rustc::RustcParser>(
        "rustc",
        &["error", "warning", "Compiling", "Checking"],
        LineSignals::NONE,
    ),
    format_row::<nextest::NextestParser>(
        "nextest",
        &[
            "PASS", "FAIL", "SIG", "ABORT", "TIMEOUT", "TMT", "SLOW", "LEAK", "FLAKY", "FL+LK",
            "XFAIL", "TRY 0", "Summary",
        ],
        LineSignals::NONE,
    ),
    format_row::<libtest::LibtestParser>(
        "libtest",
        &["test ", "running ", "---- ", "failures:"],
        LineSignals::FAIL,
    ),
    format_row::<pytest::PytestParser>("pytest", &["=", "0"], LineSignals::NONE),
    format_row::<unittest::UnittestParser>(
        "unittest",
        &["FAIL: ", "ERROR: ", "UNEXPECTED", "Ran ", "test"],
        LineSignals::NONE,
    ),
    format_row::<go::GoTestParser>(
        "go",
        &[
            "--- ",
            "=== ",
            "ok  \t",
            "FAIL",
            "PASS",
            "?   \t",
            "# ",
            "panic: ",
            "fatal error: ",
        ],
        LineSignals::NONE,
    ),
    format_row::<golangci::GolangciLintParser>(
        "golangci",
        &["level=error "],
        LineSignals::LOCATION,
    )
    .one_liners(),
    format_row::<go_json::GoJsonParser>("go_json", &["{"], LineSignals::NONE),
    format_row::<jest::JestParser>("jest", &["FAIL", "PASS", "Tests:"], LineSignals::NONE),
    format_row::<vitest::VitestParser>(
        "vitest",
        &["FAIL", "Tests ", "RUN ", "⎯", "✓", "√", "↓", "❯"],
        LineSignals::CROSS.with(LineSignals::TICK),
    ),
    format_row::<xctest::XcTestParser>(
        "xctest",
        &["Test Case '", "Test Suite '"],
        LineSignals::ERROR.with(LineSignals::FATAL),
    ),
    format_row::<swift_testing::SwiftTestingParser>(
        "swift_testing",
        &["✘ Test ", "✔ Test "],
        LineSignals::CROSS
            .with(LineSignals::TICK)
            .with(LineSignals::LOCATION),
    ),
    format_row::<testdox::TestdoxParser>(
        "testdox",
        &["PHPUnit ", "✘", "✔", "☢", "↩", "∅"],
        LineSignals::CROSS.with(LineSignals::TICK),
    ),
    format_row::<node_test::NodeTestParser>(
        "node_test",
        &["test at ", "ℹ", "✔", "✖", "﹣", "▶"],
        LineSignals::CROSS.with(LineSignals::TICK),
    ),
    format_row::<tap::TapParser>(
        "tap",
        &["TAP version", "ok", "not ok", "1..", "Bail out!"],
        LineSignals::NONE,
    ),
    format_row::<prove::ProveParser>(
        "prove",
        &[
            "#   Failed",
            "# Looks like",
            "(less ",
            "Test Summary Report",
        ],
        LineSignals::LOCATION
            .with(LineSignals::FAIL)
            .with(LineSignals::ERROR),
    ),
    format_row::<ava::AvaParser>("ava", &["✘", "─", "Uncaught exception"], LineSignals::NONE),
    format_row::<karma::KarmaParser>(
        "karma",
        &[
            "Chrome", "Firefox", "Safari", "IE ", "Headless", "Phantom", "WebKit", "Mobile",
            "Edge", "Opera",
        ],
        LineSignals::FAIL
            .with(LineSignals::ERROR)
            .with(LineSignals::TICK),
    ),
    format_row::<alcotest::AlcotestParser>(
        "alcotest",
        &["[OK]", "[FAIL]", "[SKIP]", "> [", "│ ", "Test Successful"],
        LineSignals::FAIL,
    ),
    format_row::<nunit::NUnitParser>(
        "nunit",
        &["Tests run: "],
        LineSignals::FAIL.with(LineSignals::ERROR),
    ),
    format_row::<gtest::GoogleTestParser>("gtest", &["[=", "[-", "[ ", "0"], LineSignals::FAIL),
    format_row::<catch2::Catch2Parser>(
        "catch2",
        &[
            "~~~~",
            "----",
            "All tests passed",
            "test cases:",
            "Passed all",
        ],
        LineSignals::FAIL,
    ),
    format_row::<cmake::CMakeParser>("cmake", &["CMake "], LineSignals::NONE),
    format_row::<bazel::BazelParser>(
        "bazel",
        &["ERROR: ", "FAILED: ", "INFO: ", "WARNING: ", "//"],
        LineSignals::NONE,
    ),
    format_row::<package_managers::PackageManagerParser>(
        "packages",
        &["npm e", "npm E", "yarn ", "ERR_PNPM_", "Error:"],
        LineSignals::NONE,
    ),
    format_row::<pip::PipParser>(
        "pip",
        &["ERROR: ", "error: ", "note: This "],
        LineSignals::NONE,
    ),
    format_row::<cabal::CabalParser>(
        "cabal",
        &["cabal: ", "Error: cabal: ", "Test suite "],
        LineSignals::NONE,
    ),
    format_row::<linker::LinkerParser>(
        "linker",
        &["/", "ld", "aarch64-", "arm", "x86_64-"],
        LineSignals::PROBLEM.with(LineSignals::ERROR),
    )
    .one_liners(),
    format_row::<make::MakeParser>(
        "make",
        &[
            "make",
            "gmake",
            "mingw32-make",
            "Make",
            "FAILED: ",
            "ninja: ",
        ],
        LineSignals::LOCATION,
    ),
    format_row::<maven::MavenParser>("maven", &["["], LineSignals::NONE),
    format_row::<ant::AntParser>("ant", &["[junit]", "Test", "/"], LineSignals::NONE),
    format_row::<surefire::SurefireParser>(
        "surefire",
        &[],
        LineSignals::FAIL.with(LineSignals::ERROR),
    ),
    format_row::<gradle::GradleParser>("gradle", &[":", "> Task", "* "], LineSignals::FAIL),
    format_row::<junit_console::JUnitConsoleParser>(
        "junit_console",
        &["JUnit ", "[ "],
        LineSignals::NONE,
    ),
    format_row::<testng::TestNgParser>(
        "testng",
        &["FAILED", "PASSED", "SKIPPED", "Total tests run", "[TestNG]"],
        LineSignals::NONE,
    ),
    format_row::<hspec::HspecParser>("hspec", &["0"], LineSignals::LOCATION),
    format_row::<playwright::PlaywrightParser>(
        "playwright",
        &["0", "- ", "✓", "ok "],
        LineSignals::NONE,
    ),
    format_row::<jasmine::JasmineParser>("jasmine", &["Message:", "0"], LineSignals::NONE),
    format_row::<doctest::DoctestParser>("doctest", &["***"], LineSignals::NONE),
    format_row::<bundler::BundlerParser>(
        "bundler",
        &[
            "✘",
            "▲",
            "ERROR in ",
            "WARNING in ",
            "[",
            "Checking formatting",
        ],
        LineSignals::LOCATION,
    ),
    format_row::<numbered_list::NumberedListParser>(
        "numbered",
        &[
            "0",
            "Tests: ",
            "There w",
            "Error:",
            "Failure",
            "Pending:",
            "An error occurred",
        ],
        LineSignals::NONE,
    ),
    format_row::<rubocop::RuboCopParser>(
        "rubocop",
        &["== ", "I:", "R:", "C:", "W:", "E:", "F:"],
        LineSignals::LOCATION,
    )
    .one_liners(),
    format_row::<ruby::RubyParser>(
        "ruby",
        &[
            "[!]",
            "Could not find gem",
            "Bundler could not",
            "rake aborted!",
        ],
        LineSignals::LOCATION,
    ),
    format_row::<python::PythonParser>(
        "python",
        &["Traceback (most", "+ Exception Group"],
        LineSignals::NONE,
    ),
    format_row::<php::PhpParser>(
        "php",
        &[
            "PHP ",
            "Fatal error",
            "Parse error",
            "Recoverable",
            "Catchable",
            "Problem ",
            "\"",
        ],
        LineSignals::NONE,
    ),
    format_row::<shell::ShellParser>(
        "shell",
        &[],
        LineSignals::PROBLEM
            .with(LineSignals::ASSERT)
            .with(LineSignals::ERROR),
    )
    .one_liners(),
    format_row::<terraform::TerraformParser>(
        "terraform",
        &["Error: ", "│", "╷", "╵"],
        LineSignals::NONE,
    ),
    format_row::<ocaml::OCamlParser>("ocaml", &["File \""], LineSignals::NONE),
    format_row::<ghc::GhcParser>("ghc", &[], LineSignals::LOCATION),
    format_row::<dialyzer::DialyzerParser>("dialyzer", &["Proceeding"], LineSignals::LOCATION),
    format_row::<tsc::TscParser>("tsc", &[], LineSignals::ERROR).one_liners(),
    format_row::<grouped_lint::GroupedLintParser>("grouped", &[], LineSignals::LOCATION)
        .one_liners(),
    format_row::<diagnostic::DiagnosticParser>("diagnostic", &[], LineSignals::LOCATION)
        .one_liners(),
    format_row::<ctest::CTestParser>(
        "ctest",
        &["0", "Test project ", "Start ", "No tests were"],
        LineSignals::NONE,
    ),
    // Last, to drop annotations that repeat other reports.
    format_row::<github::GitHubParser>("github", &["::"], LineSignals::NONE),
];
