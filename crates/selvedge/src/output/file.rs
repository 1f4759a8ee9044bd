//! Writes files atomically: a reader sees the old contents or the new ones.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use selvedge_core::paths::normalize;

/// The umask decides who can read the file.
const SHARED_MODE: u32 = 0o666;
/// Only the owner can read the file.
const PRIVATE_MODE: u32 = 0o600;

/// A file that is written after a run, whose code could put links in its way: it is the one that its path led to before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputFile {
    /// As the user named it.
    pub(crate) path: PathBuf,
    destination: PathBuf,
}

impl OutputFile {
    /// Remembers where a path leads.
    ///
    /// # Errors
    ///
    /// It is in the current folder, and a link, which an earlier run may have left, leads out of it.
    pub(crate) fn new(path: PathBuf) -> io::Result<Self> {
        let destination = destination(&path);
        let here = std::env::current_dir().and_then(|here| here.canonicalize())?;
        let named = normalize(&here.join(&path));
        let is_found = destination.is_absolute();
        if is_found && named.starts_with(&here) && !destination.starts_with(&here) {
            return Err(io::Error::other(
                "a link leads out of this folder; name its target instead",
            ));
        }
        Ok(Self { path, destination })
    }

    fn check(&self) -> io::Result<()> {
        if destination(&self.path) == self.destination {
            return Ok(());
        }
        Err(io::Error::other("the path leads elsewhere now"))
    }

    /// Replaces or creates it.
    pub(crate) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        replace(&self.destination, bytes)
    }

    /// Appends to it; creates it if it does not exist.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        append(&self.destination, bytes)
    }
}

/// The file that a path leads to; `..` after a missing folder stays.
fn destination(path: &Path) -> PathBuf {
    let in_folder = || {
        Some(
            parent_dir(path)
                .canonicalize()
                .ok()?
                .join(path.file_name()?),
        )
    };
    let found = path.canonicalize().ok();
    found.or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Replaces or creates a file that others may read.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = resolve_link(path);
    if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        // A device or a pipe cannot be replaced.
        return OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    write_temporary(&path, bytes, SHARED_MODE)?
        .persist(&path)
        .map(drop)
        .map_err(|error| error.error)
}

/// Replaces or creates a file that only its owner can read; after a crash of the machine it has either content.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temporary(path, bytes, PRIVATE_MODE)?
        .persist(path)
        .map_err(|error| error.error)?;
    File::open(parent_dir(path))?.sync_all()
}

/// Creates a file that only its owner can read. Fails if it exists.
pub(crate) fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temporary(path, bytes, PRIVATE_MODE)?
        .persist_noclobber(path)
        .map(drop)
        .map_err(|error| error.error)
}

/// Appends to a file; creates it if it does not exist.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)
}

/// Checks that a file can be written, without leaving a file behind.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let path = resolve_link(path);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => tempfile::tempfile_in(parent_dir(&path)).map(drop),
    }
}

fn write_temporary(
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<tempfile::NamedTempFile<File>> {
    let mut file = tempfile::Builder::new()
        .prefix(".selvedge-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(parent_dir(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Resolves a symbolic link, so that its target is replaced and not the link.
fn resolve_link(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn parent_dir(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
