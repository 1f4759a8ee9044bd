//! `cargo xtask chaos`: injects faults into real hubs and workers (`crates/selvedge-chaos`), using the
//! development build of Selvedge, which contains failpoints. The arguments are passed to that program.

use std::process::Command;

use crate::program::{self, cargo};
use crate::workspace::CargoMetadata;
use crate::{XtaskResult, workspace};

/// The short form, for continuous integration: every mutant is detected, and a few rounds hold.
const SHORT: [&[&str]; 3] = [
    &["--mutants"],
    &["--rounds", "2", "--seconds", "10", "--ttl", "2400"],
    &["--rounds", "1", "--seconds", "10", "--database", "postgres"],
];

/// Builds both programs and runs the fault tests; without arguments, the short form.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    let binaries = ["--bin", "selvedge", "--bin", "selvedge-chaos"];
    program::run(cargo(["build", "--workspace"]).args(binaries))?;
    let built = CargoMetadata::workspace_only()?
        .target_directory
        .join("debug");
    // A copy, so that a later build cannot replace the program in the middle of a round.
    let copy = tempfile::tempdir()?;
    let subject = copy.path().join("selvedge");
    std::fs::copy(built.join("selvedge"), &subject)?;
    let own = [args];
    let invocations = if args.is_empty() { &SHORT[..] } else { &own };
    for form in invocations {
        let mut chaos = Command::new(built.join("selvedge-chaos"));
        chaos.arg("--program").arg(&subject).args(*form);
        program::run(chaos.current_dir(workspace::root()))?;
    }
    Ok(())
}
