//! Archives of real projects from the package registries, downloaded by the registries' own clients and cached below
//! `target`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A package registry, named by the client that downloads from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Registry {
    Pip,
    Npm,
    Cargo,
    /// The sources of Debian's packages: of languages whose own registry is elsewhere.
    Apt,
}

/// The archive of one version of a package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Archive<'a> {
    pub(crate) registry: Registry,
    pub(crate) package: &'a str,
    pub(crate) version: &'a str,
    /// The checksum in hexadecimal digits.
    pub(crate) sha256: &'a str,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    is_executable: bool,
}

/// All files of an archive, by their paths.
pub(crate) type Files = BTreeMap<String, File>;

/// The folder for downloads.
pub(crate) fn cache() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replays");
    fs::create_dir_all(&folder).unwrap();
    folder
}

impl Archive<'_> {
    /// Returns the files of the archive, which is downloaded if it is not cached. `ignored` are lines that are added to
    /// `.gitignore`.
    pub(crate) fn files(&self, ignored: &str) -> Files {
        let archive = self.path();
        let folder = TempDir::new().unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xf"]).arg(&archive);
        succeed(tar.arg("-C").arg(folder.path()));
        let mut files = Files::new();
        collect(folder.path(), folder.path(), &mut files);
        let gitignore = files.entry(".gitignore".to_owned()).or_insert(File {
            bytes: Vec::new(),
            is_executable: false,
        });
        gitignore.bytes.extend(ignored.as_bytes());
        files
    }

    /// Returns the path of the archive after verifying its checksum.
    fn path(&self) -> PathBuf {
        let path = cache().join(format!("{}-{}", self.package, self.version));
        if !path.is_file() {
            let folder = TempDir::new_in(cache()).unwrap();
            let downloaded = self.download(folder.path());
            fs::rename(downloaded, &path).unwrap();
        }
        let checksum = hex(&Sha256::digest(fs::read(&path).unwrap()));
        assert_eq!(
            checksum,
            self.sha256,
            "{} has another checksum",
            path.display()
        );
        path
    }

    /// Downloads the archive into an empty folder.
    fn download(&self, folder: &Path) -> PathBuf {
        let Self {
            registry,
            package,
            version,
            sha256,
        } = self;
        match registry {
            Registry::Pip => {
                let requirements = cache().join(format!("{package}-{version}.txt"));
                let line = format!("{package}=={version} --hash=sha256:{sha256}\n");
                fs::write(&requirements, line).unwrap();
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
                pip.args(["--no-binary", ":all:", "--require-hashes", "--dest"]);
                pip.arg(folder).arg("--requirement").arg(requirements);
                succeed(&mut pip);
                only_file(folder)
            }
            Registry::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["pack", "--silent", &format!("{package}@{version}")]);
                succeed(npm.current_dir(folder));
                only_file(folder)
            }
            Registry::Cargo => {
                let manifest = format!(
                    "[package]\nname = \"replay\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
                     [dependencies]\n{package} = \"={version}\"\n"
                );
                fs::create_dir(folder.join("src")).unwrap();
                fs::write(folder.join("src/lib.rs"), "").unwrap();
                fs::write(folder.join("Cargo.toml"), manifest).unwrap();
                succeed(
                    Command::new("cargo")
                        .args(["fetch", "--quiet"])
                        .current_dir(folder),
                );
                let downloaded = cached_crate(&format!("{package}-{version}.crate"));
                let copy = folder.join("archive");
                fs::copy(downloaded, &copy).unwrap();
                copy
            }
            Registry::Apt => {
                let mut apt = apt_get();
                apt.args(["source", "--download-only", "--tar-only", "--only-source"]);
                succeed(apt.arg(package).current_dir(folder));
                only_file(folder)
            }
        }
    }
}

/// apt-get with package lists of its own, which contain sources; the machine's are not changed.
fn apt_get() -> Command {
    /// Held while the lists are loaded, which several tests may need first.
    static LISTS: Mutex<()> = Mutex::new(());
    let _loading = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    let state = cache().join("apt");
    let sources = state.join("debian.sources");
    let command = || {
        let mut command = Command::new("apt-get");
        let paths = [
            ("Dir::Etc::sourcelist", sources.as_path()),
            ("Dir::Etc::sourceparts", Path::new("-")),
            ("Dir::State", state.as_path()),
            ("Dir::Cache", state.as_path()),
        ];
        for (setting, path) in paths {
            command
                .arg("-o")
                .arg(format!("{setting}={}", path.display()));
        }
        // The user for downloads may not be able to enter the folder.
        command.args(["-o", "APT::Sandbox::User=root", "--quiet=2"]);
        command
    };
    if !sources.is_file() {
        fs::create_dir_all(state.join("lists/partial")).unwrap();
        fs::create_dir_all(state.join("archives/partial")).unwrap();
        let machine = fs::read_to_string("/etc/apt/sources.list.d/debian.sources");
        let machine = machine.unwrap();
        let new = state.join("new.sources");
        fs::write(&new, machine.replace("Types: deb\n", "Types: deb-src\n")).unwrap();
        let mut update = command();
        let setting = format!("Dir::Etc::sourcelist={}", new.display());
        succeed(update.args(["-o", &setting, "update"]));
        fs::rename(new, &sources).unwrap();
    }
    command()
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

pub(crate) fn succeed(command: &mut Command) {
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
pub(crate) fn write(root: &Path, path: &str, file: &File) {
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
