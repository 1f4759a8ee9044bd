//! Results of reading recorded output of Swift's toolchain, Go's linters, newer Elixir versions, ruff, Python 2 and 3,
//! and of test runners and linters of 2026.

use selvedge_digest::{CommandStatus, DigestBudget, Hints, analyse};

use crate::recorded::{log, recorded};

recorded! {
    swift_test => 1,
    swift_test_parallel => 1,
    swift_test_crash => 1,
    swift_testing => 1,
    swift_testing_filter => 1,
    swift_testing_suites => 1,
    swift_build => 1,
    swiftc_syntax => 1,
    swiftc_werror => 1,
    ruff_concise_syntax => 1,
    ruff_concise_all => 1,
    golangci => 1,
    golangci_color => 1,
    golangci_tab => 1,
    golangci_json => 1,
    golangci_broken => 3,
    golangci_all => 1,
    mix_drawn => 1,
    mix_drawn_syntax => 1,
    mix_drawn_warnings => 1,
    exunit_drawn => 2,
    unittest_python2 => 1,
    unittest_python2_verbose => 1,
    python2_uncaught => 1,
    python2_syntax => 1,
    python2_outside => 1,
    python2_import => 1,
    python_chain => 1,
    python_syntax => 1,
    python_group => 1,
    python_json => 1,
}

// Tests that pass, and too little coverage.
recorded! {
    coverage_pytest => 1,
    coverage_report => 2,
    coverage_jest => 1,
    coverage_c8 => 1,
    coverage_nyc => 1,
    coverage_vitest => 1,
}

// Test runners and linters of 2026, and places that are not in the line of the failure.
recorded! {
    insta => 101,
    prove_green => 0,
    prove_green_skipped => 0,
    prove_green_verbose => 0,
    prove_green_bonus => 0,
    bun_green => 0,
    deno_green => 0,
    uvu_green => 0,
    automake_green => 0,
    meson_green => 0,
    tap21_green => 0,
    ava_seven_green => 0,
    bun => 1,
    bun_broken => 1,
    bun_color => 1,
    deno => 1,
    deno_dot => 1,
    deno_types => 1,
    deno_uncaught => 1,
    uvu => 1,
    meson => 1,
    meson_errorlogs => 1,
    meson_verbose => 1,
    tap21 => 1,
    tap21_node => 1,
    go_panic => 1,
    go_panic_std => 1,
    go_panic_json => 1,
    minitest_highlight => 1,
    asan => 1,
    shellcheck => 1,
    shellcheck_two => 1,
    shellcheck_syntax => 1,
    bandit => 1,
    biome_cut => 1,
    biome_format => 1,
    ty => 1,
    yamllint => 1,
    deno_lint => 1,
    ava_seven => 1,
    ava_three => 1,
    automake => 2,
    automake_verbose => 2,
    phpunit_testdox_nine => 2,
    doctest_2024 => 101,
    doctest_2024_mixed => 101,
    ctest_assert => 8,
    codespell => 65,
    codespell_one => 65,
}

/// The tools of the failures in a log.
fn tools(log: &[u8]) -> Vec<String> {
    let analysis = analyse(log, Hints::default(), CommandStatus::Code(1));
    let failures = analysis.failures.into_iter();
    failures.filter_map(|failure| failure.tool).collect()
}

#[test]
fn ruff_and_flake8_findings_are_distinguished() {
    let log = [
        log("flake8.log"),
        b"ruff check --output-format concise\n".to_vec(),
        log("ruff_concise.log"),
    ];
    let flake8 = ["flake8"; 5];
    assert_eq!(tools(&log.concat()), [&flake8[..], &["ruff"]].concat());
}

#[test]
fn exception_that_a_program_survived_is_not_a_failure() {
    let traceback = String::from_utf8(log("python2_uncaught.log")).unwrap();
    let tools_with = |after: &str| tools(format!("{traceback}{after}").as_bytes());
    assert_eq!(tools_with("weaving goes on\n"), [""; 0]);
    assert_eq!(tools_with("make: *** [report] Error 1\n"), ["python"]);
    assert_eq!(tools_with(""), ["python"]);
}

#[test]
fn error_of_an_aborted_deno_run_ends() {
    let text = String::from_utf8(log("deno.log")).unwrap();
    let (aborted, _) = text.split_once(" FAILURES ").unwrap();
    let output = "still printing\n".repeat(300);
    let log = [aborted.as_bytes(), output.as_bytes(), &log("flake8.log")].concat();
    assert_eq!(tools(&log), [&["deno"; 2][..], &["flake8"; 5]].concat());
}

#[test]
fn tests_that_passed_are_not_in_the_digest() {
    let text = String::from_utf8(log("mocha.log")).unwrap();
    let passed = "    ✔ rounds a price\n".repeat(100);
    let (results, failures) = text.split_once(" passing").unwrap();
    let log = format!("{passed}{results} passing{failures}");
    let analysis = analyse(log.as_bytes(), Hints::default(), CommandStatus::Code(1));
    let digest = analysis.render(DigestBudget::tokens(500)).text;
    assert!(!digest.contains('✔'), "{digest}");
}
