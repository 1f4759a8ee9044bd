//! The scripted agent as a separate program.

use std::ffi::OsString;
use std::process::ExitCode;

#[path = "../src/demo/mod.rs"]
#[allow(dead_code, reason = "the demo's repository is for the program itself")]
mod demo;
#[path = "../src/scripted_agent/mod.rs"]
mod scripted_agent;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    scripted_agent::main(&args, demo::script)
}
