//! Programs that some tests need. If one is missing, the test is skipped with a message on a
//! developer's machine and fails in CI (`CI=true`), so that nothing is left untested by accident.

use std::io::Write;

/// Whether the test can run; if not, the error of `found` is the reason. A skip is printed to standard
/// error past the test runner's capture, so that a passing run still shows which tests were skipped.
#[track_caller]
pub fn is_available<T, E: std::fmt::Display>(program: &str, found: &Result<T, E>) -> bool {
    let Err(why) = found else {
        return true;
    };
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    assert!(
        !is_ci,
        "{program} is needed in CI, where no test is skipped: {why}"
    );
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // A closed standard error must not fail the test.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED {test}: {program} is not available: {why}"
    );
    false
}
