//! One row a format: how its lines begin, and what else they bear. No line is shown to a format that
//! its row does not name.

use super::{
    Format, alcotest, ant, ava, bazel, bundler, cabal, catch2, cmake, ctest, diagnostic, dialyzer,
    docker, doctest, ghc, git, github, go, go_json, golangci, gradle, grouped, gtest, hspec,
    jasmine, jest, json, junit_console, karma, libtest, linker, make, maven, mix, nextest,
    node_test, numbered, nunit, ocaml, packages, php, pip, playwright, prove, pytest, python,
    rubocop, ruby, rustc, shell, surefire, swift_testing, tap, terraform, testdox, testng, tsc,
    unittest, vitest, xctest, xml,
};
use crate::line::Signals;

/// A row of the table.
pub(super) struct Row {
    /// What it is called where one format is tried alone.
    pub(super) name: &'static str,
    /// How lines begin (after the indentation) that the format must see; a nought stands for any
    /// digit. Their first bytes count, see [`wakes`](super::wakes).
    pub(super) begins: &'static [&'static str],
    /// It also must see any line with one of these signals.
    pub(super) signals: Signals,
    /// Its failures are one line each: a flood of them is not read.
    pub(super) one_liners: bool,
    pub(super) make: fn() -> Box<dyn Format>,
}

const fn row<F: Format + Default + 'static>(
    name: &'static str,
    begins: &'static [&'static str],
    signals: Signals,
) -> Row {
    Row {
        name,
        begins,
        signals,
        one_liners: false,
        make: || Box::<F>::default(),
    }
}

impl Row {
    const fn one_liners(self) -> Self {
        Self {
            one_liners: true,
            ..self
        }
    }
}

/// Earlier rows look at a line first: within a document, nothing is what it seems. There is room
/// for 64.
pub(super) static TABLE: &[Row] = &[
    row::<json::Json>("json", &["{", "["], Signals::NONE),
    row::<xml::Xml>("xml", &["<", "\u{feff}"], Signals::NONE),
    row::<git::Git>("git", &["CONFLICT", "error: ", "fatal: "], Signals::NONE).one_liners(),
    row::<mix::Mix>(
        "mix",
        &["** (", "error: ", "warning: ", "The following files"],
        Signals::PLACE,
    ),
    row::<docker::Docker>(
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
        Signals::FAIL,
    ),
    row::<rustc::Rustc>(
        "rustc",
        &["error", "warning", "Compiling", "Checking"],
        Signals::NONE,
    ),
    row::<nextest::Nextest>(
        "nextest",
        &[
            "PASS", "FAIL", "SIG", "ABORT", "TIMEOUT", "TMT", "SLOW", "LEAK", "FLAKY", "FL+LK",
            "XFAIL", "TRY 0", "Summary",
        ],
        Signals::NONE,
    ),
    row::<libtest::Libtest>(
        "libtest",
        &["test ", "running ", "---- ", "failures:"],
        Signals::FAIL,
    ),
    row::<pytest::Pytest>("pytest", &["=", "0"], Signals::NONE),
    row::<unittest::Unittest>(
        "unittest",
        &["FAIL: ", "ERROR: ", "UNEXPECTED", "Ran ", "test"],
        Signals::NONE,
    ),
    row::<go::Go>(
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
        Signals::NONE,
    ),
    row::<golangci::GolangciLint>("golangci", &["level=error "], Signals::PLACE).one_liners(),
    row::<go_json::GoJson>("go_json", &["{"], Signals::NONE),
    row::<jest::Jest>("jest", &["FAIL", "PASS", "Tests:"], Signals::NONE),
    row::<vitest::Vitest>(
        "vitest",
        &["FAIL", "Tests ", "RUN ", "⎯", "✓", "√", "↓", "❯"],
        Signals::CROSS.with(Signals::TICK),
    ),
    row::<xctest::XcTest>(
        "xctest",
        &["Test Case '", "Test Suite '"],
        Signals::ERROR.with(Signals::FATAL),
    ),
    row::<swift_testing::SwiftTesting>(
        "swift_testing",
        &["✘ Test ", "✔ Test "],
        Signals::CROSS.with(Signals::TICK).with(Signals::PLACE),
    ),
    row::<testdox::Testdox>(
        "testdox",
        &["PHPUnit ", "✘", "✔", "☢", "↩", "∅"],
        Signals::CROSS.with(Signals::TICK),
    ),
    row::<node_test::NodeTest>(
        "node_test",
        &["test at ", "ℹ", "✔", "✖", "﹣", "▶"],
        Signals::CROSS.with(Signals::TICK),
    ),
    row::<tap::Tap>(
        "tap",
        &["TAP version", "ok", "not ok", "1..", "Bail out!"],
        Signals::NONE,
    ),
    row::<prove::Prove>(
        "prove",
        &[
            "#   Failed",
            "# Looks like",
            "(less ",
            "Test Summary Report",
        ],
        Signals::PLACE.with(Signals::FAIL).with(Signals::ERROR),
    ),
    row::<ava::Ava>("ava", &["✘", "─", "Uncaught exception"], Signals::NONE),
    row::<karma::Karma>(
        "karma",
        &[
            "Chrome", "Firefox", "Safari", "IE ", "Headless", "Phantom", "WebKit", "Mobile",
            "Edge", "Opera",
        ],
        Signals::FAIL.with(Signals::ERROR).with(Signals::TICK),
    ),
    row::<alcotest::Alcotest>(
        "alcotest",
        &["[OK]", "[FAIL]", "[SKIP]", "> [", "│ ", "Test Successful"],
        Signals::FAIL,
    ),
    row::<nunit::NUnit>(
        "nunit",
        &["Tests run: "],
        Signals::FAIL.with(Signals::ERROR),
    ),
    row::<gtest::GoogleTest>("gtest", &["[=", "[-", "[ ", "0"], Signals::FAIL),
    row::<catch2::Catch2>(
        "catch2",
        &[
            "~~~~",
            "----",
            "All tests passed",
            "test cases:",
            "Passed all",
        ],
        Signals::FAIL,
    ),
    row::<cmake::CMake>("cmake", &["CMake "], Signals::NONE),
    row::<bazel::Bazel>(
        "bazel",
        &["ERROR: ", "FAILED: ", "INFO: ", "WARNING: ", "//"],
        Signals::NONE,
    ),
    row::<packages::Packages>(
        "packages",
        &["npm e", "npm E", "yarn ", "ERR_PNPM_", "Error:"],
        Signals::NONE,
    ),
    row::<pip::Pip>("pip", &["ERROR: ", "error: ", "note: This "], Signals::NONE),
    row::<cabal::Cabal>(
        "cabal",
        &["cabal: ", "Error: cabal: ", "Test suite "],
        Signals::NONE,
    ),
    row::<linker::Linker>(
        "linker",
        &["/", "ld", "aarch64-", "arm", "x86_64-"],
        Signals::TROUBLE.with(Signals::ERROR),
    )
    .one_liners(),
    row::<make::Make>(
        "make",
        &[
            "make",
            "gmake",
            "mingw32-make",
            "Make",
            "FAILED: ",
            "ninja: ",
        ],
        Signals::PLACE,
    ),
    row::<maven::Maven>("maven", &["["], Signals::NONE),
    row::<ant::Ant>("ant", &["[junit]", "Test", "/"], Signals::NONE),
    row::<surefire::Surefire>("surefire", &[], Signals::FAIL.with(Signals::ERROR)),
    row::<gradle::Gradle>("gradle", &[":", "> Task", "* "], Signals::FAIL),
    row::<junit_console::JUnitConsole>("junit_console", &["JUnit ", "[ "], Signals::NONE),
    row::<testng::TestNg>(
        "testng",
        &["FAILED", "PASSED", "SKIPPED", "Total tests run", "[TestNG]"],
        Signals::NONE,
    ),
    row::<hspec::Hspec>("hspec", &["0"], Signals::PLACE),
    row::<playwright::Playwright>("playwright", &["0", "- ", "✓", "ok "], Signals::NONE),
    row::<jasmine::Jasmine>("jasmine", &["Message:", "0"], Signals::NONE),
    row::<doctest::Doctest>("doctest", &["***"], Signals::NONE),
    row::<bundler::Bundler>(
        "bundler",
        &[
            "✘",
            "▲",
            "ERROR in ",
            "WARNING in ",
            "[",
            "Checking formatting",
        ],
        Signals::PLACE,
    ),
    row::<numbered::Numbered>(
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
        Signals::NONE,
    ),
    row::<rubocop::RuboCop>(
        "rubocop",
        &["== ", "I:", "R:", "C:", "W:", "E:", "F:"],
        Signals::PLACE,
    )
    .one_liners(),
    row::<ruby::Ruby>(
        "ruby",
        &[
            "[!]",
            "Could not find gem",
            "Bundler could not",
            "rake aborted!",
        ],
        Signals::PLACE,
    ),
    row::<python::Python>(
        "python",
        &["Traceback (most", "+ Exception Group"],
        Signals::NONE,
    ),
    row::<php::Php>(
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
        Signals::NONE,
    ),
    row::<shell::Shell>(
        "shell",
        &[],
        Signals::TROUBLE.with(Signals::ASSERT).with(Signals::ERROR),
    )
    .one_liners(),
    row::<terraform::Terraform>("terraform", &["Error: ", "│", "╷", "╵"], Signals::NONE),
    row::<ocaml::OCaml>("ocaml", &["File \""], Signals::NONE),
    row::<ghc::Ghc>("ghc", &[], Signals::PLACE),
    row::<dialyzer::Dialyzer>("dialyzer", &["Proceeding"], Signals::PLACE),
    row::<tsc::Tsc>("tsc", &[], Signals::ERROR).one_liners(),
    row::<grouped::Grouped>("grouped", &[], Signals::PLACE).one_liners(),
    row::<diagnostic::Diagnostic>("diagnostic", &[], Signals::PLACE).one_liners(),
    row::<ctest::CTest>(
        "ctest",
        &["0", "Test project ", "Start ", "No tests were"],
        Signals::NONE,
    ),
    // Last, to drop what the others said.
    row::<github::GitHub>("github", &["::"], Signals::NONE),
];
