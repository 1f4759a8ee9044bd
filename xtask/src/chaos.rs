//! `cargo xtask chaos`: faults injected into real hubs and workers (`crates/selvedge-chaos`), with a build
//! of the program that has points to die at and bugs to plant. The arguments go to that program.

use std::process::Command;

use crate::program::{self, cargo};
use crate::workspace::Metadata;
use crate::{Done, workspace};

/// The short form, for continuous integration: every planted bug is found, and a few rounds hold.
const SHORT: [&str; 6] = ["--rounds", "2", "--seconds", "10", "--ttl", "2400"];

/// Builds both programs and plays; without arguments the short form.
pub(crate) fn run(args: &[&str]) -> Done {
    let with_faults = ["build", "--package", "selvedge", "--features", "faults"];
    program::run(&mut cargo(with_faults))?;
    let built = Metadata::own()?.target_directory.join("debug");
    // A copy: a later build of the same program must not take its place in the middle of a round.
    let copy = tempfile::tempdir()?;
    let subject = copy.path().join("selvedge");
    std::fs::copy(built.join("selvedge"), &subject)?;
    program::run(&mut cargo(["build", "--package", "selvedge-chaos"]))?;
    let play = |args: &[&str]| {
        let mut chaos = Command::new(built.join("selvedge-chaos"));
        chaos
            .arg("--program")
            .arg(&subject)
            .args(args)
            .current_dir(workspace::root());
        program::run(&mut chaos)
    };
    if args.is_empty() {
        play(&["--plants"])?;
        return play(&SHORT);
    }
    play(args)
}
