//! The parts of a snapshot that a git tree cannot contain: permission bits besides the executable one, and empty
//! folders. They are stored next to the files, as a blob of NUL-terminated records, and are therefore part of the
//! snapshot's id.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::exclusions::CacheRules;
use super::inventory::StoredEntry;
use super::relative::RelativePath;

/// Permission bits of a file that git calls executable, and of any folder.
pub(super) const EXECUTABLE_MODE: u32 = 0o755;
/// Permission bits of any other file.
pub(super) const PLAIN_MODE: u32 = 0o644;
const OWNER_EXECUTE_BIT: u32 = 0o100;

/// Returns the permission bits of git's mode.
pub(super) fn default_permissions(executable: bool) -> u32 {
    if executable {
        EXECUTABLE_MODE
    } else {
        PLAIN_MODE
    }
}

/// Returns whether git treats a file with these permission bits as executable.
pub(super) fn is_executable(permissions: u32) -> bool {
    permissions & OWNER_EXECUTE_BIT != 0
}

/// The part of a snapshot that is not in its tree of files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SnapshotManifest {
    /// The rules that the snapshot was taken by.
    pub(super) rules: CacheRules,
    /// Permission bits of files that differ from the default.
    pub(super) files: BTreeMap<RelativePath, u32>,
    /// Permission bits of folders that are empty, or whose bits differ from the default.
    pub(super) folders: BTreeMap<RelativePath, u32>,
}

impl SnapshotManifest {
    pub(super) fn new(
        rules: CacheRules,
        files: &BTreeMap<RelativePath, StoredEntry>,
        folders: &BTreeMap<RelativePath, u32>,
        empty: &BTreeSet<RelativePath>,
    ) -> Self {
        let covered = parent_folders(files.keys().chain(empty));
        let is_unusual = |bits: u32| bits != default_permissions(is_executable(bits));
        let files = files
            .iter()
            .filter(|(_, stored)| {
                !stored.fingerprint.is_link() && is_unusual(stored.fingerprint.permissions())
            })
            .map(|(path, stored)| (path.clone(), stored.fingerprint.permissions()))
            .collect();
        let folders = folders
            .iter()
            .filter(|(path, bits)| {
                empty.contains(*path)
                    || **bits != EXECUTABLE_MODE && covered.contains(path.as_os_str())
            })
            .map(|(path, bits)| (path.clone(), *bits))
            .collect();
        Self {
            rules,
            files,
            folders,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let rules = match self.rules {
            CacheRules::Repository => "repository",
            CacheRules::Folder => "folder",
        };
        let mut bytes = format!("rules {rules}\0").into_bytes();
        let records = self.folders.iter().map(|record| ('d', record));
        for (kind, (path, mode)) in records.chain(self.files.iter().map(|record| ('f', record))) {
            bytes.extend_from_slice(format!("{kind} {mode:o} ").as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Parses what [`SnapshotManifest::to_bytes`] wrote. Returns `None` for anything else.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut records = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let rules = match records.next()? {
            b"rules repository" => CacheRules::Repository,
            b"rules folder" => CacheRules::Folder,
            _ => return None,
        };
        let mut manifest = Self {
            rules,
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        for record in records {
            let mut fields = record.splitn(3, |byte| *byte == b' ');
            let kind = fields.next()?;
            let mode = u32::from_str_radix(str::from_utf8(fields.next()?).ok()?, 8).ok()?;
            let path = RelativePath::from_bytes(fields.next()?);
            match kind {
                b"d" => manifest.folders.insert(path, mode),
                b"f" => manifest.files.insert(path, mode),
                _ => return None,
            };
        }
        Some(manifest)
    }
}

/// Returns all ancestors of these paths.
pub(super) fn parent_folders<'p>(
    paths: impl Iterator<Item = &'p RelativePath>,
) -> HashSet<&'p OsStr> {
    let mut parents = HashSet::new();
    for path in paths {
        for parent in path.ancestors().skip(1) {
            if !parents.insert(parent.as_os_str()) {
                break;
            }
        }
    }
    parents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_round_trip() {
        let path = RelativePath::from_bytes(b"a b\n\xff/0644 c");
        let manifest = SnapshotManifest {
            rules: CacheRules::Folder,
            files: BTreeMap::from([(path.clone(), 0o600)]),
            folders: BTreeMap::from([(path, 0o700), (RelativePath::from_bytes(b"empty"), 0o755)]),
        };
        assert_eq!(
            SnapshotManifest::from_bytes(&manifest.to_bytes()),
            Some(manifest)
        );
    }

    #[test]
    fn manifest_rejects_anything_else() {
        for bytes in [
            &b""[..],
            b"rules none\0",
            b"rules folder\0x 644 a\0",
            b"rules folder\0f 9 a\0",
        ] {
            assert_eq!(SnapshotManifest::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
