//! `cargo xtask verify`: all checks that must pass before a change is submitted.

use crate::program::{self, cargo};
use crate::{XtaskResult, generate, stages, tidy};

pub(crate) fn run() -> XtaskResult {
    stages::run(&[
        ("format", &format),
        ("lints", &lints),
        ("tests", &tests),
        ("documentation", &documentation),
        ("generated files", &generate::check),
        ("tidy", &tidy::run),
        ("licences", &tidy::licences::run),
    ])
}

fn format() -> XtaskResult {
    program::run(&mut cargo(["fmt", "--all", "--check"]))
}

fn lints() -> XtaskResult {
    // `--all-targets` does not include the last two.
    for targets in [&["--all-targets"][..], &["--test", "e2e", "--test", "ui"]] {
        let mut lints = cargo(["clippy", "--workspace", "--all-features"]);
        program::run(lints.args(targets).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn tests() -> XtaskResult {
    program::run(&mut cargo(["test", "--workspace"]))
}

fn documentation() -> XtaskResult {
    let mut rustdoc = cargo([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    program::run(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}
