//! `cargo xtask verify`: all that must hold before a change is handed in.

use crate::program::{self, cargo};
use crate::{Done, generate, stages, tidy};

pub(crate) fn run() -> Done {
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

fn format() -> Done {
    program::run(&mut cargo(["fmt", "--all", "--check"]))
}

fn lints() -> Done {
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ];
    program::run(&mut cargo(lints))
}

fn tests() -> Done {
    program::run(&mut cargo(["test", "--workspace"]))
}

fn documentation() -> Done {
    let mut rustdoc = cargo([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    program::run(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}
