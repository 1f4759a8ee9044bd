//! The Debian package, by cargo-deb: `package.metadata.deb` in `crates/selvedge/Cargo.toml` lists its
//! files. The program is handed to it in the target directory that it expects a build in.

use std::path::{Path, PathBuf};

use super::package::{PACKAGE, ReleasePackage};
use crate::XtaskResult;
use crate::program::{self, cargo};

/// Writes the package, unless the target is not for Debian or cargo-deb is not installed.
pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<Option<PathBuf>> {
    let Some(architecture) = package.target.debian_architecture else {
        return Ok(None);
    };
    if program::capture_output(cargo(["deb", "--version"]).arg("--quiet")).is_err() {
        let advice = "`pip install --requirement packaging/requirements.txt` installs it";
        println!("  no Debian package: cargo-deb is not installed; {advice}");
        return Ok(None);
    }
    let scratch = tempfile::tempdir()?;
    let build = scratch.path().join(package.target.triple).join("release");
    std::fs::create_dir_all(&build)?;
    let program_file = build.join(PACKAGE);
    std::fs::write(&program_file, &package.program)?;
    let path = folder.join(format!("{PACKAGE}_{}_{architecture}.deb", package.version));
    let mut deb = cargo([
        "deb",
        "--quiet",
        "--no-build",
        "--no-strip",
        "--package",
        PACKAGE,
    ]);
    deb.args(["--target", package.target.triple, "--output"])
        .arg(&path)
        .env("CARGO_TARGET_DIR", scratch.path())
        .env("SOURCE_DATE_EPOCH", package.time.to_string());
    program::run(&mut deb)?;
    Ok(Some(path))
}
