//! Container images of the hub and the worker, by podman or docker, from the archive of a target.

use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;

use super::package::PACKAGE;
use super::target::PackageTarget;
use crate::XtaskResult;
use crate::program;
use crate::workspace::{self, CargoMetadata};

pub(super) fn build(
    role: &str,
    target: &PackageTarget,
    tag: &str,
    base: Option<&str>,
    folder: &Path,
) -> XtaskResult {
    if !["hub", "worker"].contains(&role) {
        return Err(format!("`{role}` is not an image: hub, worker").into());
    }
    let version = &CargoMetadata::workspace_only()?
        .package(PACKAGE)?
        .version
        .clone();
    let name = format!("{PACKAGE}-{version}-{}", target.triple);
    let context = tempfile::tempdir()?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let file = std::fs::File::open(&archive).map_err(|error| {
        let advice = format!("`cargo xtask dist --target {}` writes it", target.triple);
        format!("{}: {error}\n{advice}", archive.display())
    })?;
    tar::Archive::new(GzDecoder::new(file)).unpack(context.path())?;
    let engine = std::env::var("CONTAINER_ENGINE").unwrap_or_else(|_| "podman".to_owned());
    let mut words = engine.split_whitespace();
    let mut build = Command::new(words.next().unwrap_or("podman"));
    build.args(words).args(["build", "--file"]);
    let containerfile = format!("packaging/Containerfile.{role}");
    build
        .arg(workspace::root().join(containerfile))
        .args(["--tag", tag]);
    if let Some(base) = base {
        build.args(["--build-arg", &format!("BASE={base}")]);
    }
    build.arg(context.path().join(name));
    program::run(&mut build)
}
