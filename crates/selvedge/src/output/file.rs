//! Writing a file so that a reader sees the old one or the new one, never half of either.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whoever the person's umask lets read it.
const FOR_ALL: u32 = 0o666;
/// Its owner only.
const FOR_OWNER: u32 = 0o600;

/// Writes a file that others may read.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = followed(path);
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        // A device or a pipe: there is nothing to replace.
        return OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    complete(&path, bytes, FOR_ALL)?
        .persist(&path)
        .map(drop)
        .map_err(|error| error.error)
}

/// Writes a file that only its owner may read, and which must not exist yet.
pub(crate) fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    complete(path, bytes, FOR_OWNER)?
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
pub(crate) fn can_be_written(path: &Path) -> io::Result<()> {
    let path = followed(path);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(()),
        _ => tempfile::tempfile_in(folder(&path)).map(drop),
    }
}

fn complete(path: &Path, bytes: &[u8], mode: u32) -> io::Result<tempfile::NamedTempFile<File>> {
    let mut file = tempfile::Builder::new()
        .prefix(".selvedge-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// What a link leads to: the link itself stays.
fn followed(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
