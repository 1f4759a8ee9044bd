//! Packages from npm, in folders below `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::XtaskResult;
use crate::program;
use crate::workspace::{self, CargoMetadata};

/// The files that npm reads.
pub(crate) const MANIFESTS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Installs the packages that a folder of the repository pins below `target`, unless they are installed already; returns
/// the folder of the installation.
pub(crate) fn install_pinned(folder: &Path, name: &str) -> XtaskResult<PathBuf> {
    let pinned = workspace::root().join(folder);
    let target = CargoMetadata::workspace_only()?.target_directory.join(name);
    std::fs::create_dir_all(&target)?;
    let installed_lock = target.join("installed-lock.json");
    let lock = std::fs::read(pinned.join("package-lock.json"))
        .map_err(|error| format!("{}/package-lock.json: {error}", pinned.display()))?;
    if std::fs::read(&installed_lock).is_ok_and(|installed| installed == lock) {
        return Ok(target);
    }
    for file in MANIFESTS {
        std::fs::copy(pinned.join(file), target.join(file))
            .map_err(|error| format!("{}/{file}: {error}", pinned.display()))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(&target);
    program::run(&mut npm).map_err(|error| {
        format!(
            "{error}\nthe packages of {} are installed with npm into {}, which needs npm and a reachable registry",
            folder.display(),
            target.display()
        )
    })?;
    std::fs::write(installed_lock, lock)?;
    Ok(target)
}
