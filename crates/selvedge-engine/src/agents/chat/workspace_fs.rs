//! Access to the files of the workspace only: the kernel resolves every path that a model names
//! below one open directory, so that neither `..` nor an absolute path nor a symbolic link (even
//! one created a moment ago) leads out of it. `.git` must not be written: git executes parts of it
//! with the user's permissions.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Maximum bytes of a file that is read or edited.
pub(super) const FILE_LIMIT: u64 = 4 << 20;

/// The workspace, as an open directory.
#[derive(Debug)]
pub(in crate::agents) struct WorkspaceRoot {
    directory: OwnedFd,
    path: PathBuf,
}

/// Why a file cannot be used, as a message for the model.
#[derive(Debug, thiserror::Error)]
pub(in crate::agents) enum FileError {
    #[error("`{0}` is outside of the workspace; name files by their path below it")]
    Outside(String),
    #[error("`{0}` belongs to git and must not be written")]
    Git(String),
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{0}` is a directory")]
    Directory(String),
    #[error("`{0}` is not a regular file")]
    Special(String),
    #[error("`{0}` is larger than {FILE_LIMIT} bytes; use run_command to look at parts of it")]
    TooLarge(String),
    #[error("`{name}`: {source}")]
    Io { name: String, source: io::Error },
}

impl WorkspaceRoot {
    pub(in crate::agents) fn open(workspace: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(workspace, flags, Mode::empty())?;
        Ok(Self {
            directory,
            path: workspace.to_owned(),
        })
    }

    /// Its path.
    pub(in crate::agents) fn path(&self) -> &Path {
        &self.path
    }

    /// The path relative to the workspace that a model means. An absolute path is accepted if it
    /// leads into the workspace: models often use them.
    pub(super) fn resolve(&self, named: &str) -> Result<PathBuf, FileError> {
        let outside = || FileError::Outside(named.to_owned());
        let path = Path::new(named.trim());
        let path = path.strip_prefix(&self.path).unwrap_or(path);
        let mut below = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(part) => below.push(part),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        Ok(below)
    }

    /// Reads a whole file.
    pub(in crate::agents) fn read(&self, named: &str) -> Result<Vec<u8>, FileError> {
        let path = self.resolve(named)?;
        // Without O_NONBLOCK, opening a named pipe would wait for a writer.
        let file = self.open_at(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        let file = require_regular_file(named, file)?;
        let mut bytes = Vec::new();
        let read = file.take(FILE_LIMIT + 1).read_to_end(&mut bytes);
        read.map_err(|error| file_error(named, error))?;
        if bytes.len() as u64 > FILE_LIMIT {
            return Err(FileError::TooLarge(named.to_owned()));
        }
        Ok(bytes)
    }

    /// Writes a whole file, creating missing parent directories.
    pub(in crate::agents) fn write(&self, named: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.resolve(named)?;
        let is_git = |part: &std::ffi::OsStr| part.eq_ignore_ascii_case(".git");
        if path.iter().any(is_git) {
            return Err(FileError::Git(named.to_owned()));
        }
        self.make_parents(named, &path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
        let mut file = require_regular_file(
            named,
            self.open_at(&path, flags, Mode::from_raw_mode(0o666)),
        )?;
        let about = file.metadata().map_err(|error| file_error(named, error))?;
        let written = if about.nlink() > 1 {
            self.replace(&path, about.mode(), bytes)
        } else {
            file.set_len(0).and_then(|()| file.write_all(bytes))
        };
        written.map_err(|error| file_error(named, error))
    }

    /// Replaces a file that has other names, which may be outside of the workspace: they keep the old
    /// content, as if the file had been copied.
    fn replace(&self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        let parent = self.open_at(parent, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty())?;
        let entry = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(entry.st_mode) == FileType::Symlink {
            return Err(io::Error::other(
                "is a symbolic link to a file with several names, which is not written to",
            ));
        }
        let temporary = format!(".selvedge-{:x}", RandomState::new().hash_one(()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o777);
        let file = rustix::fs::openat(&parent, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let written = File::from(file)
            .write_all(bytes)
            .and_then(|()| {
                Ok(rustix::fs::chmodat(
                    &parent,
                    &temporary,
                    mode,
                    AtFlags::empty(),
                )?)
            })
            .and_then(|()| Ok(rustix::fs::renameat(&parent, &temporary, &parent, name)?));
        if written.is_err() {
            // The first error is the one to report.
            let _ = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
        }
        written
    }

    /// Returns a directory relative to the workspace, after checking that it is one.
    pub(super) fn directory(&self, named: &str) -> Result<PathBuf, FileError> {
        let path = self.resolve(named)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        match self.open_at(&path, flags, Mode::empty()) {
            Ok(_) => Ok(self.path.join(path)),
            Err(errno) => Err(file_error(named, errno.into())),
        }
    }

    /// Whether a path is in the workspace, existing or not yet created.
    pub(in crate::agents) fn contains(&self, named: &str) -> bool {
        let Ok(path) = self.resolve(named) else {
            return false;
        };
        path.ancestors().find_map(|path| {
            match self.open_at(path, OFlags::PATH, Mode::empty()) {
                Ok(_) => Some(true),
                // A path that does not exist yet will be created in its closest existing parent.
                Err(Errno::NOENT) => None,
                Err(_) => Some(false),
            }
        }) == Some(true)
    }

    /// A file's path below the workspace.
    pub(super) fn relative_path<'a>(&self, file: &'a Path) -> &'a Path {
        file.strip_prefix(&self.path).unwrap_or(file)
    }

    fn make_parents(&self, named: &str, path: &Path) -> Result<(), FileError> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let mut made = PathBuf::new();
        for part in parent {
            let above = self.open_at(&made, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty());
            let above = above.map_err(|errno| file_error(named, errno.into()))?;
            match rustix::fs::mkdirat(&above, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(file_error(named, errno.into())),
            }
            made.push(part);
        }
        Ok(())
    }

    fn open_at(&self, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let flags = flags | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.directory, path, flags, mode, resolve) {
                // An old kernel, or a sandbox that does not allow the call.
                Err(Errno::NOSYS | Errno::PERM) => {}
                opened => return opened,
            }
        }
        open_without_links(&self.directory, path, flags, mode)
    }
}

/// Opens a path one component after the other without following symbolic links, for kernels that
/// cannot confine a path.
fn open_without_links(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let step = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(root, ".", step, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        if !matches!(part, Component::Normal(_) | Component::CurDir) {
            return Err(Errno::XDEV);
        }
        if parts.peek().is_none() {
            return rustix::fs::openat(
                &directory,
                part.as_os_str(),
                flags | OFlags::NOFOLLOW,
                mode,
            );
        }
        directory = rustix::fs::openat(&directory, part.as_os_str(), step, Mode::empty())?;
    }
    Ok(directory)
}

fn require_regular_file(
    named: &str,
    opened: rustix::io::Result<OwnedFd>,
) -> Result<File, FileError> {
    let file = File::from(opened.map_err(|errno| file_error(named, errno.into()))?);
    let kind = file
        .metadata()
        .map_err(|error| file_error(named, error))?
        .file_type();
    if kind.is_dir() {
        return Err(FileError::Directory(named.to_owned()));
    }
    if !kind.is_file() {
        return Err(FileError::Special(named.to_owned()));
    }
    Ok(file)
}

fn file_error(named: &str, error: io::Error) -> FileError {
    let name = named.to_owned();
    match Errno::from_io_error(&error) {
        Some(Errno::XDEV | Errno::LOOP) => FileError::Outside(name),
        Some(Errno::NOENT) => FileError::Missing(name),
        Some(Errno::ISDIR) => FileError::Directory(name),
        // A socket, or a named pipe without a reader.
        Some(Errno::NXIO) => FileError::Special(name),
        _ => FileError::Io {
            name,
            source: error,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A workspace next to a folder that must not be changed.
    struct ConfinedFixture {
        top: tempfile::TempDir,
    }

    impl ConfinedFixture {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            for directory in ["work", "work/src", "work/.git", "outside"] {
                std::fs::create_dir(top.path().join(directory)).unwrap();
            }
            std::fs::write(top.path().join("outside/secret"), "secret").unwrap();
            Self { top }
        }

        fn workspace(&self) -> PathBuf {
            self.top.path().join("work")
        }

        fn root(&self) -> WorkspaceRoot {
            WorkspaceRoot::open(&self.workspace()).unwrap()
        }

        fn outside(&self) -> Vec<(String, String)> {
            let entries = std::fs::read_dir(self.top.path().join("outside")).unwrap();
            let file = |entry: io::Result<std::fs::DirEntry>| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            };
            entries.map(file).collect()
        }
    }

    #[test]
    fn workspace_fs_writes_and_creates_directories() {
        let place = ConfinedFixture::new();
        let root = place.root();
        root.write("new/deep/file", b"one, and longer").unwrap();
        root.write("./new/deep/file", b"two").unwrap();
        assert_eq!(root.read("new/deep/file").unwrap(), b"two");
        let absolute = place.workspace().join("new/deep/file");
        assert_eq!(root.read(absolute.to_str().unwrap()).unwrap(), b"two");
        assert!(matches!(root.read("new"), Err(FileError::Directory(_))));
        assert!(matches!(root.read("nothing"), Err(FileError::Missing(_))));
    }

    #[test]
    fn workspace_fs_rejects_paths_outside() {
        let place = ConfinedFixture::new();
        symlink("../outside", place.workspace().join("link")).unwrap();
        symlink("../outside/secret", place.workspace().join("secret")).unwrap();
        symlink("../outside/made", place.workspace().join("dangling")).unwrap();
        symlink("/", place.workspace().join("src/root")).unwrap();
        let secret = place.top.path().join("outside/secret");
        let through_root = format!("src/root{}", secret.display());
        let root = place.root();
        for name in [
            "../outside/secret",
            "src/../../outside/secret",
            secret.to_str().unwrap(),
            "link/secret",
            "link/new/file",
            "secret",
            "dangling",
            &through_root,
            "/etc/passwd",
        ] {
            let read = root.read(name).unwrap_err();
            assert!(matches!(read, FileError::Outside(_)), "{name}: {read}");
            let written = root.write(name, b"x").unwrap_err();
            assert!(
                matches!(written, FileError::Outside(_)),
                "{name}: {written}"
            );
        }
        assert!(matches!(root.directory("link"), Err(FileError::Outside(_))));
        assert_eq!(
            place.outside(),
            [("secret".to_owned(), "secret".to_owned())]
        );
    }

    #[test]
    fn workspace_fs_fallback_follows_no_link() {
        let place = ConfinedFixture::new();
        std::fs::write(place.workspace().join("src/file"), "inside").unwrap();
        symlink("../outside", place.workspace().join("link")).unwrap();
        symlink("src", place.workspace().join("within")).unwrap();
        let root = place.root();
        let open = |path: &str| {
            let path = Path::new(path);
            open_without_links(&root.directory, path, OFlags::RDONLY, Mode::empty())
        };
        assert!(open("src/file").is_ok());
        assert!(open(".").is_ok());
        for path in [
            "link",
            "link/secret",
            "within/file",
            "../outside/secret",
            "/etc/passwd",
        ] {
            assert!(open(path).is_err(), "{path}");
        }
    }

    #[test]
    fn workspace_fs_rejects_git_files_and_pipes() {
        let place = ConfinedFixture::new();
        let root = place.root();
        for name in [".git/hooks/pre-commit", "src/.GIT/config"] {
            assert!(
                matches!(root.write(name, b"x"), Err(FileError::Git(_))),
                "{name}"
            );
        }
        let pipe = place.workspace().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(matches!(root.read("pipe"), Err(FileError::Special(_))));
        assert!(matches!(
            root.write("pipe", b"x"),
            Err(FileError::Special(_))
        ));
    }

    #[test]
    fn workspace_fs_does_not_write_through_hard_link() {
        let place = ConfinedFixture::new();
        let secret = place.top.path().join("outside/secret");
        let (linked, alias) = (
            place.workspace().join("linked"),
            place.workspace().join("alias"),
        );
        std::fs::hard_link(&secret, &linked).unwrap();
        std::fs::set_permissions(&linked, std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("linked", &alias).unwrap();
        let root = place.root();
        assert!(matches!(
            root.write("alias", b"x"),
            Err(FileError::Io { .. })
        ));
        root.write("linked", b"changed").unwrap();
        assert_eq!(root.read("linked").unwrap(), b"changed");
        assert_eq!(std::fs::metadata(&linked).unwrap().mode() & 0o777, 0o755);
        assert_eq!(
            place.outside(),
            [("secret".to_owned(), "secret".to_owned())]
        );
        let names = std::fs::read_dir(place.workspace()).unwrap();
        assert_eq!(names.count(), 4, "no temporary file is left");
    }

    #[test]
    fn workspace_fs_follows_inner_link() {
        let place = ConfinedFixture::new();
        std::fs::write(place.workspace().join("src/file"), "inside").unwrap();
        symlink("src/file", place.workspace().join("alias")).unwrap();
        let root = place.root();
        root.write("alias", b"changed").unwrap();
        assert_eq!(root.read("src/file").unwrap(), b"changed");
    }
}
