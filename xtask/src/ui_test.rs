//! `cargo xtask ui-test`: tests of the dashboard in a real browser (`crates/selvedge/tests/ui`).
//! Chromium and chromedriver come from the distribution; fails if they are missing, never skips. axe-core, which checks
//! the pages' accessibility, comes from npm.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::XtaskResult;
use crate::npm;
use crate::program::{self, cargo};

/// Programs that must be installed.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// Runs the suite; `args` are passed to its test runner.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    for program in PROGRAMS {
        let mut command = Command::new(program);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return Err(format!(
                "cannot run `{program} --version`; on Debian: apt-get install chromium chromium-driver"
            )
            .into());
        }
    }
    let packages = npm::install_pinned(Path::new("crates/selvedge/tests/ui"), "ui-npm")?;
    let mut tests = cargo(["test", "--workspace", "--test", "ui", "--"]);
    tests.env(
        "SELVEDGE_AXE",
        packages.join("node_modules/axe-core/axe.min.js"),
    );
    program::run(tests.args(args))
}
