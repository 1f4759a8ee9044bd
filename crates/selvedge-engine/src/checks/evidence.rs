//! What a passing exit code is worth. It is necessary and never sufficient for `test_passes`: the
//! output must show that tests were executed, that none of them failed, and that the runner came to
//! its own end.

use selvedge_digest::TestSummary;

/// Why a test command that exited with 0 is no pass, if it is none.
pub(super) fn missing(tests: Option<&TestSummary>) -> Option<String> {
    let Some(tests) = tests else {
        return Some(
            "exited with 0, but no test summary was recognised in its output: use a check of type \
             `command` if the exit code alone is to count"
                .to_owned(),
        );
    };
    if tests.failed > 0 {
        let failed = tests.failed;
        return Some(format!(
            "exited with 0, but its output says that {failed} tests failed"
        ));
    }
    if !tests.complete {
        return Some("exited with 0, but without the runner's closing summary".to_owned());
    }
    (tests.executed == 0).then(|| "exited with 0, but executed no test".to_owned())
}
