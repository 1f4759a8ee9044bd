//! Writing a file so that a reader sees the old one or the new one, never half of either.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whoever the person's umask lets read it.
const SHARED_MODE: u32 = 0o666;
/// Its owner only.
const PRIVATE_MODE: u32 = 0o600;

/// Writes a file that others may read.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = resolve_link(path);
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        // A device or a pipe: there is nothing to replace.
        return OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    write_temporary(&path, bytes, SHARED_MODE)?
        .persist(&path)
        .map(drop)
        .map_err(|error| error.error)
}

/// Writes a file that only its owner may read, and which must not exist yet.
pub(crate) fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temporary(path, bytes, PRIVATE_MODE)?
        .persist_noclobber(path)
        .map(drop)
        .map_err(|error| error.error)
}

/// Adds to the end of a file.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)
}

/// Whether a file could be written there, found out without leaving anything behind.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let path = resolve_link(path);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(()),
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

/// What a link leads to: the link itself stays.
fn resolve_link(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn parent_dir(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
