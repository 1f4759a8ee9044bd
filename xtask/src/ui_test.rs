//! `cargo xtask ui-test`: the dashboard in a real browser (`crates/selvedge/tests/ui`). Chromium and its
//! driver come from the distribution; without them this fails and says so: it never skips.

use std::process::{Command, Stdio};

use crate::XtaskResult;
use crate::program::{self, cargo};

/// What must be installed.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// Runs the suite; `args` go to its test runner.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    for program in PROGRAMS {
        let mut asked = Command::new(program);
        asked
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !asked.status().is_ok_and(|status| status.success()) {
            return Err(format!(
                "`{program} --version` does not work; on Debian: apt-get install chromium chromium-driver"
            )
            .into());
        }
    }
    let mut tests = cargo(["test", "--workspace", "--test", "ui", "--"]);
    program::run(tests.args(args))
}
