//! One row per format: its line starts and signals. A format sees only lines that its row names.

use super::block::{BlockFormat, BlockParser};
use super::parser_pair::ParserPair;
use super::{
    FormatParser, alcotest, ant, automake, ava, bazel, bun, bundler, cabal, catch2, cmake,
    coverage, ctest, deno, diagnostic, dialyzer, docker, doctest, ghc, git, github, go, go_json,
    golangci, gradle, grouped_lint, gtest, hspec, jasmine, jest, json, junit_console, junit_core,
    karma, libtest, linker, listed_lint, make, maven, meson, mix, nextest, node_test,
    numbered_list, nunit, ocaml, package_managers, php, pip, playwright, program_error, prove,
    pytest, python, rubocop, ruby, rustc, shell, surefire, swift_testing, tap, terraform, testdox,
    testng, tsc, unittest, uvu, vitest, xctest, xml,
};
use crate::line::LineSignals;

const ASSERT: LineSignals = LineSignals::ASSERT;
const CROSS: LineSignals = LineSignals::CROSS;
const ERROR: LineSignals = LineSignals::ERROR;
const FAIL: LineSignals = LineSignals::FAIL;
const FATAL: LineSignals = LineSignals::FATAL;
const LOCATION: LineSignals = LineSignals::LOCATION;
const NONE: LineSignals = LineSignals::NONE;
const PROBLEM: LineSignals = LineSignals::PROBLEM;
const TICK: LineSignals = LineSignals::TICK;

/// A row of the table.
pub(super) struct FormatRow {
    /// Name, for selecting a single format.
    pub(super) name: &'static str,
    /// Beginnings of lines (after the indentation) that the format must see, separated by `|`; `0` matches any
    /// digit. Only their first bytes count, see [`prefilter`](super::prefilter).
    line_starts: &'static str,
    /// Signals of lines that the format must also see.
    pub(super) signals: LineSignals,
    /// Whether each failure is one line: very many of them are not read.
    pub(super) one_liners: bool,
    pub(super) make: fn() -> Box<dyn FormatParser>,
}

const fn row<F: FormatParser + Default + 'static>(
    name: &'static str,
    begins: &'static str,
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

const fn blocks<F: BlockFormat + 'static>(
    name: &'static str,
    begins: &'static str,
    signals: LineSignals,
) -> FormatRow {
    row::<BlockParser<F>>(name, begins, signals)
}

impl FormatRow {
    pub(super) fn line_starts(&self) -> impl Iterator<Item = &'static str> {
        self.line_starts
            .split('|')
            .filter(|start| !start.is_empty())
    }

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
    row::<json::JsonParser>("json", "{|[", NONE),
    row::<xml::XmlParser>("xml", "<|\u{feff}", NONE),
    row::<ParserPair<bun::BunParser, ParserPair<deno::DenoParser, BlockParser<uvu::UvuFormat>>>>(
        "javascript_tests",
        "bun test v|running |ok |FAILED |TS0|FAIL  |Total:  ",
        NONE,
    ),
    row::<ParserPair<BlockParser<git::GitFormat>, coverage::CoverageParser>>(
        "git",
        "CONFLICT|error: |fatal: |File|Name|FAIL Required|ERROR: Cov|Coverage f|Jest: |Line cov|Branch cov",
        NONE,
    )
    .one_liners(),
    row::<mix::MixParser>(
        "mix",
        "** (|error: |warning: |The following files",
        LOCATION,
    ),
    blocks::<docker::DockerFormat>(
        "docker",
        "#0|Step |The command|COPY failed|ADD failed|Error|ERROR|dockerfile",
        FAIL,
    ),
    row::<rustc::RustcParser>("rustc", "error|warning|Compiling|Checking", NONE),
    blocks::<nextest::NextestFormat>(
        "nextest",
        "PASS|FAIL|SIG|ABORT|TIMEOUT|TMT|SLOW|LEAK|FLAKY|FL+LK|XFAIL|TRY 0|Summary",
        NONE,
    ),
    row::<libtest::LibtestParser>("libtest", "test |running |---- |failures:", FAIL),
    row::<pytest::PytestParser>("pytest", "=|0", NONE),
    row::<automake::AutomakeParser>(
        "automake",
        "Testsuite summary|PASS: |FAIL: |SKIP: |XFAIL: |XPASS: |ERROR: |.. contents",
        NONE,
    ),
    row::<unittest::UnittestParser>("unittest", "FAIL: |ERROR: |UNEXPECTED|Ran |test", NONE),
    row::<go::GoTestParser>(
        "go",
        "--- |=== |ok  \t|FAIL|PASS|?   \t|# |panic: |fatal error: ",
        NONE,
    ),
    blocks::<golangci::GolangciLintFormat>("golangci", "level=error ", LOCATION).one_liners(),
    row::<go_json::GoJsonParser>("go_json", "{", NONE),
    row::<jest::JestParser>("jest", "FAIL|PASS|Tests:", NONE),
    row::<vitest::VitestParser>("vitest", "FAIL|Tests |RUN |⎯|✓|√|↓|❯", CROSS.with(TICK)),
    row::<xctest::XcTestParser>("xctest", "Test Case '|Test Suite '", ERROR.with(FATAL)),
    row::<swift_testing::SwiftTestingParser>(
        "swift_testing",
        "✘ Test |✔ Test ",
        CROSS.with(TICK).with(LOCATION),
    ),
    blocks::<testdox::TestdoxFormat>(
        "testdox",
        "PHPUnit |Summary of|│|✘|✔|☢|↩|∅",
        CROSS.with(TICK),
    ),
    row::<node_test::NodeTestParser>("node_test", "test at |ℹ|✔|✖|﹣|▶|/|file:///|node:internal/", CROSS.with(TICK)),
    row::<tap::TapParser>("tap", "TAP version|ok|not ok|1..|Bail out!|# ", NONE),
    row::<prove::ProveParser>(
        "prove",
        "#   Failed|# Looks like|(less |All tests success|Test Summary Report|Files=|Result: ",
        LOCATION.with(FAIL).with(ERROR),
    ),
    blocks::<ava::AvaFormat>("ava", "✘|✖|✔|─|- [|Uncaught exception", NONE),
    blocks::<karma::KarmaFormat>(
        "karma",
        "Chrome|Firefox|Safari|IE |Headless|Phantom|WebKit|Mobile|Edge|Opera",
        FAIL.with(ERROR).with(TICK),
    ),
    blocks::<alcotest::AlcotestFormat>(
        "alcotest",
        "[OK]|[FAIL]|[SKIP]|> [|│ |Test Successful",
        FAIL,
    ),
    blocks::<nunit::NUnitFormat>("nunit", "Tests run: ", FAIL.with(ERROR)),
    row::<gtest::GoogleTestParser>("gtest", "[=|[-|[ |0", FAIL),
    blocks::<catch2::Catch2Format>(
        "catch2",
        "~~~~|----|All tests passed|test cases:|Passed all",
        FAIL,
    ),
    blocks::<cmake::CMakeFormat>("cmake", "CMake ", NONE),
    blocks::<bazel::BazelFormat>("bazel", "ERROR: |FAILED: |INFO: |WARNING: |//", NONE),
    blocks::<package_managers::PackageManagerFormat>(
        "packages",
        "npm e|npm E|yarn |ERR_PNPM_|Error:",
        NONE,
    ),
    blocks::<pip::PipFormat>("pip", "ERROR: |error: |note: This ", NONE),
    blocks::<cabal::CabalFormat>("cabal", "cabal: |Error: cabal: |Test suite ", NONE),
    blocks::<linker::LinkerFormat>("linker", "/|ld|aarch64-|arm|x86_64-", PROBLEM.with(ERROR))
        .one_liners(),
    blocks::<make::MakeFormat>(
        "make",
        "make|gmake|mingw32-make|Make|FAILED: |ninja: ",
        LOCATION,
    ),
    blocks::<maven::MavenFormat>("maven", "[", NONE),
    row::<ant::AntParser>("ant", "[junit]|Test|/", NONE),
    row::<surefire::SurefireParser>("surefire", "", FAIL.with(ERROR)),
    row::<gradle::GradleParser>("gradle", ":|> Task|* ", FAIL),
    row::<junit_console::JUnitConsoleParser>("junit_console", "JUnit |[ ", NONE),
    row::<junit_core::JUnitCoreParser>("junit_core", "JUnit version|OK (|Tests run: ", NONE),
    row::<testng::TestNgParser>(
        "testng",
        "FAILED|PASSED|SKIPPED|Total tests run|[TestNG]",
        NONE,
    ),
    blocks::<hspec::HspecFormat>("hspec", "0", LOCATION),
    blocks::<playwright::PlaywrightFormat>("playwright", "0|- |✓|ok ", NONE),
    blocks::<jasmine::JasmineFormat>("jasmine", "Message:|0", NONE),
    blocks::<doctest::DoctestFormat>("doctest", "***", NONE),
    blocks::<bundler::BundlerFormat>(
        "bundler",
        "✘|▲|ERROR in |WARNING in |[|Checking formatting|×",
        LOCATION.with(CROSS),
    ),
    row::<numbered_list::NumberedListParser>(
        "numbered",
        "0|Tests: |There w|Error:|Failure|Pending:|An error occurred",
        NONE,
    ),
    blocks::<rubocop::RuboCopFormat>("rubocop", "== |I:|R:|C:|W:|E:|F:", LOCATION).one_liners(),
    blocks::<ruby::RubyFormat>(
        "ruby",
        "[!]|Could not find gem|Bundler could not|rake aborted!",
        LOCATION,
    ),
    row::<python::PythonParser>("python", "Traceback (most|+ Exception Group", NONE),
    blocks::<php::PhpFormat>(
        "php",
        "PHP |Fatal error|Parse error|Recoverable|Catchable|Problem |\"",
        NONE,
    ),
    blocks::<shell::ShellFormat>("shell", "", PROBLEM.with(ASSERT).with(ERROR)).one_liners(),
    row::<terraform::TerraformParser>("terraform", "Error: |│|╷|╵", NONE),
    blocks::<ocaml::OCamlFormat>("ocaml", "File \"", NONE),
    blocks::<ghc::GhcFormat>("ghc", "", LOCATION),
    blocks::<dialyzer::DialyzerFormat>("dialyzer", "Proceeding", LOCATION),
    blocks::<tsc::TscFormat>("tsc", "", ERROR).one_liners(),
    row::<
        ParserPair<
            BlockParser<grouped_lint::GroupedLintFormat>,
            BlockParser<listed_lint::ListedLintFormat>,
        >,
    >(
        "grouped",
        "would reformat|Would reformat|In |>> Issue: ",
        LOCATION,
    )
    .one_liners(),
    row::<diagnostic::DiagnosticParser>("diagnostic", "", LOCATION).one_liners(),
    row::<
        ParserPair<
            BlockParser<ctest::CTestFormat>,
            ParserPair<
                BlockParser<meson::MesonFormat>,
                BlockParser<program_error::ProgramErrorFormat>,
            >,
        >,
    >(
        "ctest",
        "0|ninja: |The Meson build|Test project |Start |No tests were|==0",
        ASSERT,
    ),
    // Last, to drop annotations that repeat other reports.
    row::<github::GitHubParser>("github", "::", NONE),
];
