//! Paths relative to the workspace, as keys of maps and sets. They are ordered and hashed as bytes, because comparing
//! them by components, as `Path` does, took half of a snapshot's time.

use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path of plain names separated by single slashes, as in git. A folder sorts before its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RelativePath(OsString);

impl RelativePath {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self(OsString::from_vec(bytes.to_vec()))
    }

    /// The folders that contain it, from the outermost one.
    pub(super) fn folders(&self) -> impl Iterator<Item = &OsStr> {
        let bytes = self.0.as_bytes();
        memchr::memchr_iter(b'/', bytes).map(|slash| OsStr::from_bytes(&bytes[..slash]))
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.0.into()
    }
}

impl From<PathBuf> for RelativePath {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<&Path> for RelativePath {
    fn from(path: &Path) -> Self {
        path.to_owned().into()
    }
}

impl Deref for RelativePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// Allows lookups by string.
impl Borrow<OsStr> for RelativePath {
    fn borrow(&self) -> &OsStr {
        &self.0
    }
}
