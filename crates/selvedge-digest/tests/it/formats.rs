//! What is read from recorded outputs of each tool: ids, places, messages, counts; and the digest.

use selvedge_digest::Budget;

use crate::recorded::{read, table};

/// Snapshots the records and the digest of a recorded log.
fn check(name: &str, exit: i32) {
    let analysis = read(&format!("{name}.log"), exit);
    // A budget below the size of the log, so that it is not simply shown whole.
    let digest = analysis.render(Budget::tokens(220)).text;
    insta::assert_snapshot!(name, format!("{}\n--- digest\n{digest}", table(&analysis)));
}

macro_rules! recorded {
    ($($name:ident => $exit:literal,)*) => { $(
        #[test]
        fn $name() {
            check(stringify!($name), $exit);
        }
    )* };
}

// Reports for machines.
recorded! {
    junit_pytest => 1,
    junit_pytest_xunit1 => 1,
    junit_pytest_collect => 2,
    junit_jest => 1,
    junit_mocha => 3,
    junit_xunit => 3,
    junit_vitest => 1,
    junit_nextest => 100,
    jest_json => 1,
    jest_json_locations => 1,
    vitest_json => 1,
    vitest_json_late => 1,
    mocha_json => 3,
    libtest_json => 101,
    nextest_json => 100,
    cargo_json => 101,
    cargo_json_clippy => 101,
    cargo_json_syntax => 101,
    eslint_json => 1,
    stylelint_json => 2,
    rubocop_json => 1,
    ruff_json => 1,
    ruff_json_lines => 1,
    pylint_json => 30,
    pylint_json2 => 31,
    mypy_json => 1,
    pyright_json => 1,
    shellcheck_json => 1,
    checkstyle_java => 7,
    checkstyle_eslint => 1,
    checkstyle_shellcheck => 1,
    sarif_eslint => 1,
    sarif_ruff => 1,
    sarif_bandit => 1,
}

// Text for people.
recorded! {
    cargo_test => 101,
    cargo_test_quiet => 101,
    cargo_test_green => 0,
    nextest => 100,
    rustc => 101,
    clippy => 101,
    pytest => 1,
    pytest_verbose => 1,
    pytest_quiet => 1,
    pytest_collect => 2,
    unittest => 1,
    mypy => 1,
    ruff => 1,
    ruff_concise => 1,
    jest => 1,
    jest_verbose => 1,
    vitest => 1,
    vitest_color => 1,
    mocha => 2,
    node_test => 1,
    node_test_tap => 1,
    go_test => 1,
    go_test_verbose => 1,
    go_test_json => 1,
    go_vet => 1,
    tsc => 2,
    tsc_pretty => 2,
    eslint => 1,
    eslint_two => 1,
    gcc => 1,
    ld => 1,
    gxx => 1,
    gcc_include => 1,
    clang => 1,
    clang_c => 1,
    clang_template => 1,
    ld_two => 1,
    ld_lib => 1,
    lld => 1,
    lld_undefined => 1,
    make => 2,
    make_parallel => 2,
    make_syntax => 2,
    make_link => 2,
    ninja => 1,
    ninja_link => 1,
    ninja_missing => 1,
    cmake_find => 1,
    cmake_errors => 1,
    cmake_parse => 1,
    cmake_make => 2,
    ctest => 8,
    ctest_output => 8,
    ctest_verbose => 8,
    ctest_crash => 8,
    ctest_green => 0,
    gtest => 1,
    gtest_brief => 1,
    gtest_color => 1,
    gtest_crash => 139,
    catch2 => 4,
    catch2_compact => 4,
    catch2_all => 4,
    javac => 1,
    javac_syntax => 1,
    javac_lint => 1,
    maven_surefire => 1,
    maven_junit5 => 1,
    maven_testng => 1,
    maven_compile => 1,
    maven_syntax => 1,
    maven_resolve => 1,
    maven_pom => 1,
    ant_junit => 1,
    ant_brief => 1,
    ant_compile => 1,
    ant_task => 1,
    gradle_test => 1,
    gradle_full => 1,
    gradle_compile => 1,
    gradle_resolve => 1,
    gradle_script => 1,
    junit_console => 1,
    junit_console_ascii => 1,
    junit_console_summary => 1,
    testng_verbose => 1,
    testng_configuration => 1,
    testng_more => 1,
}
