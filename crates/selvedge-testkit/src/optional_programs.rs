//! Optional programs of tests. Without them a test is skipped with a message on a developer's machine and
//! fails in CI (`CI=true`), so that nothing is left untested by accident.

use std::io::Write;

/// Whether a test can go on; the error of `found` is the reason if not. Skipping is reported on standard error past the test
/// runner's capture, so that a passing run still shows what it left out.
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
