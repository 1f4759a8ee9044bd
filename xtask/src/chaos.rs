//! `cargo xtask chaos`: faults injected into real hubs and workers (`crates/selvedge-chaos`), with a build
//! of the program that has points to die at and bugs to plant. The arguments go to that program.

use std::process::Command;

use crate::program::{self, cargo};
use crate::workspace::CargoMetadata;
use crate::{XtaskResult, workspace};

/// The short form, for continuous integration: every planted bug is found, and a few rounds hold.
const SHORT: [&[&str]; 3] = [
    &["--plants"],
    &["--rounds", "2", "--seconds", "10", "--ttl", "2400"],
    &["--rounds", "1", "--seconds", "10", "--database", "postgres"],
];

/// Builds both programs and plays; without arguments the short form.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    let both = ["--bin", "selvedge", "--bin", "selvedge-chaos"];
    let mut build = cargo(["build", "--workspace", "--features", "selvedge/faults"]);
    program::run(build.args(both))?;
    let built = CargoMetadata::workspace_only()?
        .target_directory
        .join("debug");
    // A copy: a later build of the same program must not take its place in the middle of a round.
    let copy = tempfile::tempdir()?;
    let subject = copy.path().join("selvedge");
    std::fs::copy(built.join("selvedge"), &subject)?;
    let own = [args];
    let forms = if args.is_empty() { &SHORT[..] } else { &own };
    for form in forms {
        let mut chaos = Command::new(built.join("selvedge-chaos"));
        chaos.arg("--program").arg(&subject).args(*form);
        program::run(chaos.current_dir(workspace::root()))?;
    }
    Ok(())
}
