//! The files of the last snapshot, stored in the shadow directory so that the next snapshot reads only changed files.
//! Losing the inventory only costs time; one that cannot be read is ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use selvedge_core::model::TreeId;

use super::error::WorkspaceError;
use super::file_records::{self, FileRecord};
use super::fingerprint::FileFingerprint;
use super::ids::BlobId;
use super::relative::RelativePath;
use super::shadow;

/// The first record; changed with the format.
const FORMAT_HEADER: &[u8] = b"selvedge inventory 2";

/// A stored file or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredEntry {
    pub(super) fingerprint: FileFingerprint,
    pub(super) blob: BlobId,
    /// Whether an equal fingerprint means equal bytes.
    pub(super) is_settled: bool,
}

/// The last snapshot and its files.
#[derive(Debug)]
pub(super) struct Inventory {
    pub(super) tree: TreeId,
    pub(super) manifest: BlobId,
    pub(super) files: BTreeMap<RelativePath, StoredEntry>,
}

impl Inventory {
    pub(super) fn load(path: &Path) -> Option<Self> {
        Self::from_bytes(&fs::read(path).ok()?)
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), WorkspaceError> {
        shadow::write_atomically(path, &self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FORMAT_HEADER.to_vec();
        let head = format!("\0{} {} {}\0", self.files.len(), self.tree, self.manifest);
        bytes.extend_from_slice(head.as_bytes());
        for (path, stored) in &self.files {
            let record = FileRecord {
                fingerprint: stored.fingerprint,
                is_settled: stored.is_settled,
                blob: Some(stored.blob),
            };
            record.append_to(&mut bytes, path);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        if file_records::take_text(&mut rest)? != FORMAT_HEADER {
            return None;
        }
        let head = file_records::take_text(&mut rest)?;
        let mut head = str::from_utf8(head).ok()?.split(' ');
        let count: usize = head.next()?.parse().ok()?;
        let tree = head.next()?.parse().ok()?;
        let manifest = BlobId::from_hex(head.next()?.as_bytes())?;
        let files = file_records::read_all(rest, |record| {
            Some(StoredEntry {
                fingerprint: record.fingerprint,
                blob: record.blob?,
                is_settled: record.is_settled,
            })
        })?;
        // Invariant: an inventory lists every file of its tree. A truncated one would hide deletions.
        (files.len() == count).then_some(Self {
            tree,
            manifest,
            files,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let fingerprint = FileFingerprint {
            mode: 0o100_644,
            size: 3,
            inode: 7,
            modified: (-1, 999_999_999),
            changed: (1_700_000_000, 5),
        };
        let stored = StoredEntry {
            fingerprint,
            blob: BlobId::of(b"abc"),
            is_settled: true,
        };
        let path = RelativePath::from_bytes(b"a b/\n\xfe 1");
        Inventory {
            tree: "ab".repeat(32).parse().unwrap(),
            manifest: BlobId::of(b""),
            files: BTreeMap::from([(path, stored)]),
        }
    }

    #[test]
    fn inventory_round_trip() {
        let bytes = inventory().to_bytes();
        let loaded = Inventory::from_bytes(&bytes).unwrap();
        assert_eq!(loaded.to_bytes(), bytes);
        assert_eq!(loaded.files, inventory().files);
    }

    #[test]
    fn inventory_truncated_is_ignored() {
        let bytes = inventory().to_bytes();
        for end in 0..bytes.len() {
            assert!(
                Inventory::from_bytes(&bytes[..end]).is_none(),
                "took {end} bytes for all"
            );
        }
    }
}
