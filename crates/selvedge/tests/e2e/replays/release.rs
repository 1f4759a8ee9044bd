//! Releases of real projects, downloaded from package registries by their own clients.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

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

/// A package registry, named by the client that downloads from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Registry {
    Pip,
    Npm,
    Cargo,
}

/// A file of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    bytes: Vec<u8>,
    is_executable: bool,
}

/// All files of a release, by their paths.
pub(super) type Files = BTreeMap<String, File>;

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

/// The folder for downloads.
fn cache() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replays");
    fs::create_dir_all(&folder).unwrap();
    folder
}

impl Project {
    /// Returns whether the file belongs to the project's tests.
    pub(super) fn is_test(&self, path: &str) -> bool {
        self.tests.iter().any(|tests| {
            path.strip_prefix(tests.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns the files of a release, which is downloaded if it is not cached.
    pub(super) fn files(&self, release: &Release) -> Files {
        let archive = self.archive(release);
        let folder = TempDir::new().unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xzf"]).arg(&archive);
        succeed(tar.arg("-C").arg(folder.path()));
        let mut files = Files::new();
        collect(folder.path(), folder.path(), &mut files);
        let ignored = files.entry(".gitignore".to_owned()).or_insert(File {
            bytes: Vec::new(),
            is_executable: false,
        });
        ignored.bytes.extend(GITIGNORE.as_bytes());
        files
    }

    /// Returns the path of the release's archive after verifying its checksum.
    fn archive(&self, release: &Release) -> PathBuf {
        let path = cache().join(format!("{}-{}", self.name, release.version));
        if !path.is_file() {
            let folder = TempDir::new_in(cache()).unwrap();
            let downloaded = self.registry.download(&self.name, release, folder.path());
            fs::rename(downloaded, &path).unwrap();
        }
        let checksum = hex(&Sha256::digest(fs::read(&path).unwrap()));
        assert_eq!(
            checksum,
            release.sha256,
            "{} has another checksum",
            path.display()
        );
        path
    }
}

impl Registry {
    /// Downloads an archive into an empty folder.
    fn download(self, name: &str, release: &Release, folder: &Path) -> PathBuf {
        let Release { version, sha256 } = release;
        match self {
            Self::Pip => {
                let requirements = cache().join(format!("{name}-{version}.txt"));
                let line = format!("{name}=={version} --hash=sha256:{sha256}\n");
                fs::write(&requirements, line).unwrap();
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
                pip.args(["--no-binary", ":all:", "--require-hashes", "--dest"]);
                pip.arg(folder).arg("--requirement").arg(requirements);
                succeed(&mut pip);
                only_file(folder)
            }
            Self::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["pack", "--silent", &format!("{name}@{version}")]);
                succeed(npm.current_dir(folder));
                only_file(folder)
            }
            Self::Cargo => {
                let manifest = format!(
                    "[package]\nname = \"replay\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
                     [dependencies]\n{name} = \"={version}\"\n"
                );
                fs::create_dir(folder.join("src")).unwrap();
                fs::write(folder.join("src/lib.rs"), "").unwrap();
                fs::write(folder.join("Cargo.toml"), manifest).unwrap();
                succeed(
                    Command::new("cargo")
                        .args(["fetch", "--quiet"])
                        .current_dir(folder),
                );
                let downloaded = cached_crate(&format!("{name}-{version}.crate"));
                let copy = folder.join("archive");
                fs::copy(downloaded, &copy).unwrap();
                copy
            }
        }
    }
}

/// Returns the path of a crate in cargo's download cache.
fn cached_crate(name: &str) -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"));
    let registries = fs::read_dir(home.join("registry/cache")).unwrap();
    let mut paths = registries.map(|registry| registry.unwrap().path().join(name));
    let path = paths.find(|path| path.is_file());
    path.unwrap_or_else(|| panic!("cargo has fetched no {name}"))
}

fn only_file(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    let entry = entries.next().unwrap().unwrap();
    assert!(
        entries.next().is_none(),
        "more than one file was downloaded"
    );
    entry.path()
}

fn succeed(command: &mut Command) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed\n{stderr}");
}

/// Reads all files below a folder, except Python byte code, which some archives contain.
fn collect(root: &Path, folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_none_or(|it| it != "pyc") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let file = File {
                bytes: fs::read(&path).unwrap(),
                is_executable: mode & 0o100 != 0,
            };
            files.insert(name.to_owned(), file);
        }
    }
}

/// Writes a file below a folder.
pub(super) fn write(root: &Path, path: &str, file: &File) {
    let target = root.join(path);
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::write(&target, &file.bytes).unwrap();
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    fs::set_permissions(&target, PermissionsExt::from_mode(mode)).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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
