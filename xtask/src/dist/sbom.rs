//! A bill of materials in CycloneDX 1.6: the libraries that are linked into the program of a target, with
//! their checksums from Cargo.lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::package::{PACKAGE, ReleasePackage};
use super::target::PackageTarget;
use crate::XtaskResult;
use crate::workspace::{self, CargoMetadata, MetadataPackage};

/// The parts of Cargo.lock that are used here.
#[derive(Debug, Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<PathBuf> {
    let path = folder.join(format!("{}.cdx.json", package.archive_name()));
    std::fs::write(&path, &package.sbom)?;
    Ok(path)
}

pub(super) fn document(
    metadata: &CargoMetadata,
    target: &PackageTarget,
    time: u64,
) -> XtaskResult<String> {
    let lock: LockFile = toml::from_str(&std::fs::read_to_string(
        workspace::root().join("Cargo.lock"),
    )?)?;
    let checksums: BTreeMap<_, _> = lock
        .package
        .iter()
        .filter_map(|it| {
            Some((
                (it.name.as_str(), it.version.as_str()),
                it.checksum.as_deref()?,
            ))
        })
        .collect();
    let packages = metadata.runtime_dependencies(PACKAGE);
    let checksum_of = |package: &MetadataPackage| {
        let found = checksums.get(&(package.name.as_str(), package.version.as_str()));
        found.copied()
    };
    let (program, libraries): (Vec<_>, Vec<_>) = packages
        .iter()
        .copied()
        .partition(|package| package.name == PACKAGE);
    let mut program: Vec<_> = program.iter().map(|it| component(it, None)).collect();
    let mut program = program.pop().ok_or("the program is not in the metadata")?;
    program["type"] = json!("application");
    let libraries = libraries.iter().map(|it| component(it, checksum_of(it)));
    let dependencies = packages.iter().map(|package| {
        let below = metadata.runtime_edges(&package.id);
        let mut below: Vec<_> = below.into_iter().map(package_url).collect();
        below.sort();
        below.dedup();
        json!({"ref": package_url(package), "dependsOn": below})
    });
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": jiff::Timestamp::from_second(i64::try_from(time)?)?.to_string(),
            "component": program,
            "properties": [{"name": "cargo:target", "value": target.triple}],
        },
        "components": libraries.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&bom)? + "\n")
}

fn component(package: &MetadataPackage, checksum: Option<&str>) -> Value {
    let url = package_url(package);
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
    });
    if let Some(licence) = &package.license {
        // The `/` is deprecated, and not SPDX.
        let expression = licence.replace(" / ", " OR ").replace('/', " OR ");
        component["licenses"] = json!([{"expression": expression}]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn package_url(package: &MetadataPackage) -> String {
    format!(
        "pkg:cargo/{}@{}",
        package.name,
        package.version.replace('+', "%2B")
    )
}
