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
}
