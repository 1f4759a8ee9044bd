//! An in-toto statement by Selvedge itself: this source tree passes these checks. `selvedge attest verify`
//! in a checkout of the release confirms that it is the same tree.

use std::path::Path;
use std::process::Command;

use super::package::PACKAGE;
use crate::XtaskResult;
use crate::program::{self, cargo};
use crate::workspace::{self, CargoMetadata};

/// A whole test suite takes longer than the checks of an attempt.
const TIMEOUT: &str = "90m";

pub(super) fn write(
    folder: &Path,
    checks: &[&str],
    key: Option<&str>,
    program: Option<&str>,
) -> XtaskResult {
    if checks.is_empty() {
        return Err("an attestation needs a --check".into());
    }
    let metadata = CargoMetadata::workspace_only()?;
    let program = if let Some(program) = program {
        Path::new(program).canonicalize()?
    } else {
        program::run(&mut cargo([
            "build",
            "--quiet",
            "--workspace",
            "--bin",
            PACKAGE,
        ]))?;
        metadata.target_directory.join("debug").join(PACKAGE)
    };
    let version = &metadata.package(PACKAGE)?.version;
    let path = folder.join(format!("{PACKAGE}-{version}.intoto.json"));
    let mut verify = Command::new(program);
    verify
        .args(["verify", "--verification-timeout", TIMEOUT, "--attest"])
        .arg(&path)
        .current_dir(workspace::root());
    for check in checks {
        verify.args(["--check", check]);
    }
    if let Some(key) = key {
        verify.args(["--attest-key", key]);
    }
    program::run(&mut verify)?;
    println!("{}", path.display());
    Ok(())
}
