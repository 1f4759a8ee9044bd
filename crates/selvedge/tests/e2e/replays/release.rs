//! Releases of real projects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::archives::{Archive, Files, Registry, cache, succeed};

/// Excluded from commits, in addition to what the project itself ignores.
const GITIGNORE: &str = "\n__pycache__/\n.pytest_cache/\nnode_modules/\ntarget/\nCargo.lock\n";

/// A real project with two of its releases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    pub(super) name: String,
    registry: Registry,
    pub(super) runner: String,
    /// The project's own test command, without coverage and linters.
    pub(super) check: String,
    /// Files and folders of the project's tests. Empty if tests and sources share files.
    #[serde(default)]
    pub(super) tests: Vec<String>,
    /// npm packages that the tests need, from `tests/replays/package.json`.
    #[serde(default)]
    pub(super) npm: Vec<String>,
    /// Why a review is acceptable although the later sources pass the earlier or the failing tests.
    pub(super) review: Option<String>,
    pub(super) old: Release,
    pub(super) new: Release,
}

/// One release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    pub(super) version: String,
    /// The archive's checksum in hexadecimal digits.
    sha256: String,
}

/// One installation of the npm packages that the projects' tests need.
pub(super) struct NodePackages(PathBuf);

/// Loads the projects, in the order of the file.
pub(super) fn load_projects() -> Vec<Project> {
    #[derive(Deserialize)]
    struct Projects {
        project: Vec<Project>,
    }
    let text = fs::read_to_string(data().join("releases.toml")).unwrap();
    let projects: Projects = toml::from_str(&text).unwrap();
    projects.project
}

/// The folder with the data of the replays.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replays")
}

impl Project {
    /// Returns whether the file belongs to the project's tests.
    pub(super) fn is_test(&self, path: &str) -> bool {
        self.tests.iter().any(|tests| {
            path.strip_prefix(tests.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns the files of a release.
    pub(super) fn files(&self, release: &Release) -> Files {
        let archive = Archive {
            registry: self.registry,
            package: &self.name,
            version: &release.version,
            sha256: &release.sha256,
        };
        archive.files(GITIGNORE)
    }
}

impl NodePackages {
    /// Installs the pinned packages unless they are installed already.
    pub(super) fn install() -> Self {
        let folder = cache().join("npm");
        let done = folder.join("installed-lock.json");
        let lock = fs::read(data().join("package-lock.json")).unwrap();
        if fs::read(&done).is_ok_and(|installed| installed == lock) {
            return Self(folder);
        }
        fs::create_dir_all(&folder).unwrap();
        for file in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(data().join(file), folder.join(file)).unwrap();
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
        succeed(npm.current_dir(&folder));
        fs::write(done, lock).unwrap();
        Self(folder)
    }

    /// The folder with `node_modules`.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}
