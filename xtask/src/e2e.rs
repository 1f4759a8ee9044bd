//! `cargo xtask e2e`: the end-to-end suite (`crates/selvedge/tests/e2e`, behind the feature `e2e`),
//! with the real agents that it runs. They come from npm, pinned by the lock file beside the suite,
//! into a folder under `target`; nothing is installed anywhere else. Without npm or its registry
//! this fails and says so: it never skips.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Done;
use crate::program::{self, cargo};
use crate::workspace::{self, Metadata};

/// Where the suite says which agents it needs.
const SUITE: &str = "crates/selvedge/tests/e2e";
/// What npm reads.
const PINNED: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Runs the suite; `args` go to its test runner (names of tests, `--nocapture`, …).
pub(crate) fn run(args: &[&str]) -> Done {
    let programs = install()?;
    let suite = [
        "test",
        "--package",
        "selvedge",
        "--features",
        "e2e",
        "--test",
        "e2e",
        "--",
    ];
    let mut tests = cargo(suite);
    tests
        .args(args)
        .env("PATH", path_with(&programs)?)
        .env("SELVEDGE_E2E_PROGRAMS", &programs);
    program::run(&mut tests)
}

/// Installs the pinned agents where they are not yet; gives the folder of their programs.
fn install() -> Done<PathBuf> {
    let suite = workspace::root().join(SUITE);
    let scratch = Metadata::own()?.target_directory.join("e2e-agents");
    std::fs::create_dir_all(&scratch)?;
    let done = scratch.join("installed-lock.json");
    let lock = std::fs::read(suite.join("package-lock.json"))
        .map_err(|error| format!("{SUITE}/package-lock.json: {error}"))?;
    if std::fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(programs_in(&scratch));
    }
    for file in PINNED {
        std::fs::copy(suite.join(file), scratch.join(file))
            .map_err(|error| format!("{SUITE}/{file}: {error}"))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(&scratch);
    program::run(&mut npm).map_err(|error| {
        format!(
            "{error}\nthe end-to-end suite runs real agents, which npm installs into {}; it needs \
             npm, and its registry must be reachable",
            scratch.display()
        )
    })?;
    std::fs::write(done, lock)?;
    Ok(programs_in(&scratch))
}

fn programs_in(scratch: &Path) -> PathBuf {
    scratch.join("node_modules/.bin")
}

/// The search path with the folder first: what npm brought wins over what the machine has.
fn path_with(programs: &Path) -> Done<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let parts = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(parts)?)
}
