//! Settings of compilers and test runners in a hermetic environment: their homes and output folders.

use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_testkit::{CommandOutput, Invocation, TestEnv};

/// The timeout of a program on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) fn with_tools(run: Invocation, env: &TestEnv) -> Invocation {
    let homes = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let run = homes.into_iter().fold(run, |run, (name, folder)| {
        let default = home.join(folder).into_os_string();
        run.env(name, std::env::var_os(name).unwrap_or(default))
    });
    // The sandbox makes the folder writable for checks if it exists.
    let target = env.root().join("target");
    std::fs::create_dir_all(&target).unwrap();
    run.env_inherit("RUSTUP_TOOLCHAIN")
        // Shared, because compiling Go's standard library takes longer than the tests.
        .env(
            "GOCACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"),
        )
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
}

/// Runs a command line outside of Selvedge.
pub(crate) fn shell(env: &TestEnv, command: &str) -> CommandOutput {
    let run = env.command("sh").args(["-c", command]);
    with_tools(run, env).timeout(PATIENCE).run()
}
