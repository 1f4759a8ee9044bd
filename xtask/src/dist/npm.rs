//! npm packages: one with the program for each platform, and the launcher, which depends on all of them
//! as optional packages. npm installs the one of its platform, so that no script runs at installation.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::package::{PACKAGE, PackageFile, ReleasePackage};
use super::{archive, target};
use crate::XtaskResult;

const LAUNCHER: &str = include_str!("../../../packaging/npm/selvedge.js");
/// The oldest release of Node.js that the launcher runs with.
const NODE: &str = ">=18";

pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<[PathBuf; 2]> {
    let version = &package.version;
    let (os, cpu) = package.target.npm_platform;
    let mut manifest = common(package, &package.target.npm_package());
    manifest["os"] = json!([os]);
    manifest["cpu"] = json!([cpu]);
    // The program must be a file, not a member of an archive.
    manifest["preferUnplugged"] = json!(true);
    let mut files = vec![PackageFile::executable(PACKAGE, package.program.clone())];
    files.extend(package.licence_files().cloned());
    let platform = folder.join(format!("selvedge-cli-{os}-{cpu}-{version}.tgz"));
    write_package(&platform, &manifest, files, package)?;

    let mut manifest = common(package, PACKAGE);
    manifest["bin"] = json!({PACKAGE: "selvedge.js"});
    manifest["engines"] = json!({"node": NODE});
    let optional = target::npm_packages()
        .into_iter()
        .map(|name| (name, json!(version)));
    manifest["optionalDependencies"] = Value::Object(optional.collect::<Map<_, _>>());
    let files = vec![
        PackageFile::executable("selvedge.js", LAUNCHER),
        PackageFile::new("README.md", package.readme_with_absolute_links()?),
    ];
    let launcher = folder.join(format!("selvedge-npm-{version}.tgz"));
    write_package(&launcher, &manifest, files, package)?;
    Ok([platform, launcher])
}

fn common(package: &ReleasePackage, name: &str) -> Value {
    json!({
        "name": name,
        "version": package.version,
        "description": package.description,
        "license": package.licence,
        "homepage": package.repository,
        "repository": {"type": "git", "url": format!("git+{}.git", package.repository)},
    })
}

fn write_package(
    path: &Path,
    manifest: &Value,
    mut files: Vec<PackageFile>,
    package: &ReleasePackage,
) -> XtaskResult {
    let manifest = serde_json::to_string_pretty(manifest)? + "\n";
    files.insert(0, PackageFile::new("package.json", manifest));
    // The folder that npm expects in an archive.
    for file in &mut files {
        file.path = format!("package/{}", file.path);
    }
    archive::write_tar_gz(path, &files, package.time, package.compression)
}
