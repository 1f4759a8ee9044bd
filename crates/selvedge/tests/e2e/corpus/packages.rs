//! npm packages in a project's `node_modules`: copied with their dependencies from the suite's one
//! installation, as npm would have installed them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::fixtures::PROGRAMS;

/// npm's record of what it installed.
const RECORD: &str = ".package-lock.json";

#[derive(Debug, Deserialize)]
struct Record {
    /// Keys are paths below the installation: `node_modules/a/node_modules/b`.
    packages: BTreeMap<String, Package>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, String>,
    #[serde(default)]
    peer_dependencies: BTreeMap<String, String>,
    #[serde(default)]
    bin: BTreeMap<String, String>,
}

/// Copies the packages and their dependencies into `folder/node_modules`.
pub(super) fn install(names: &[String], folder: &Path) {
    if !names.is_empty() {
        install_from(&installation(), names, folder);
    }
}

/// Like [`install`], from another installation.
pub(crate) fn install_from(installed: &Path, names: &[String], folder: &Path) {
    if names.is_empty() {
        return;
    }
    let text = std::fs::read_to_string(installed.join("node_modules").join(RECORD)).unwrap();
    let record: Record = serde_json::from_str(&text).unwrap();
    let programs = folder.join("node_modules/.bin");
    std::fs::create_dir_all(&programs).unwrap();
    let needed = record.closure(names);
    // Nested packages are copied with the package that contains them.
    let outer = needed
        .iter()
        .filter(|path| path.rfind("node_modules/") == Some(0));
    for path in outer {
        copy(&installed.join(path), &folder.join(path));
    }
    let direct = names.iter().map(|name| format!("node_modules/{name}"));
    for path in direct {
        for (name, program) in &record.packages[&path].bin {
            let target = Path::new("..")
                .join(&path["node_modules/".len()..])
                .join(program);
            std::os::unix::fs::symlink(target, programs.join(name)).unwrap();
        }
    }
}

/// The folder with the suite's npm packages.
fn installation() -> PathBuf {
    let folders = std::env::var_os(PROGRAMS).unwrap_or_default();
    let mut folders =
        std::env::split_paths(&folders).filter_map(|it| Some(it.ancestors().nth(2)?.to_owned()));
    let installed = folders.find(|folder| folder.join("node_modules").join(RECORD).is_file());
    installed.unwrap_or_else(|| {
        panic!("${PROGRAMS} names no folder of npm's packages: run `cargo xtask e2e`")
    })
}

/// Copies a folder with its links; as a reflink if the file system supports it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let status = Command::new("cp")
        .args(["-R", "-p", "--reflink=auto"])
        .args([from, to])
        .status();
    assert!(
        status.unwrap().success(),
        "{} was not copied",
        from.display()
    );
}

impl Record {
    /// Returns the paths of the packages and their dependencies.
    fn closure(&self, names: &[String]) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        let mut open: Vec<_> = names
            .iter()
            .filter_map(|name| self.resolve("", name))
            .collect();
        assert_eq!(
            open.len(),
            names.len(),
            "{names:?} are not all in the suite's package.json"
        );
        while let Some(path) = open.pop() {
            if paths.insert(path.clone()) {
                let package = &self.packages[&path];
                let needed = [
                    &package.dependencies,
                    &package.optional_dependencies,
                    &package.peer_dependencies,
                ];
                let needed = needed.into_iter().flat_map(|it| it.keys());
                open.extend(needed.filter_map(|name| self.resolve(&path, name)));
            }
        }
        paths
    }

    /// Returns the path of a dependency: below the package itself, or in a folder above. Optional dependencies
    /// may be missing.
    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        let mut folder = from;
        loop {
            let path = match folder {
                "" => format!("node_modules/{name}"),
                _ => format!("{folder}/node_modules/{name}"),
            };
            if self.packages.contains_key(&path) {
                return Some(path);
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder
                .rfind("/node_modules/")
                .map_or("", |end| &folder[..end]);
        }
    }
}
