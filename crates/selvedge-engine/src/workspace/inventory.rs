//! The files of the last snapshot, stored in the shadow directory so that the next snapshot reads only changed files.
//! Losing the inventory only costs time; one that cannot be read is ignored.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use selvedge_core::model::TreeId;

use super::error::WorkspaceError;
use super::fingerprint::FileFingerprint;
use super::ids::BlobId;
use super::relative::RelativePath;
use super::shadow;

/// The first record; changed with the format.
const FORMAT_HEADER: &[u8] = b"selvedge inventory 1";

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
        for (
            path,
            StoredEntry {
                fingerprint,
                blob,
                is_settled,
            },
        ) in &self.files
        {
            append_file_record(&mut bytes, path, fingerprint, *is_settled, Some(blob));
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut records = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        if records.next()? != FORMAT_HEADER {
            return None;
        }
        let mut head = str::from_utf8(records.next()?).ok()?.split(' ');
        let count: usize = head.next()?.parse().ok()?;
        let tree = head.next()?.parse().ok()?;
        let manifest = BlobId::from_hex(head.next()?.as_bytes())?;
        let files: BTreeMap<_, _> = records.map(parse_entry).collect::<Option<_>>()?;
        // Invariant: an inventory lists every file of its tree. A truncated one would hide deletions.
        (files.len() == count).then_some(Self {
            tree,
            manifest,
            files,
        })
    }
}

fn parse_entry(record: &[u8]) -> Option<(RelativePath, StoredEntry)> {
    let (path, fingerprint, is_settled, blob) = parse_file_record(record)?;
    let stored = StoredEntry {
        fingerprint,
        blob: blob?,
        is_settled,
    };
    Some((path, stored))
}

/// Appends the record of a file, whose blob id may be unknown.
pub(super) fn append_file_record(
    bytes: &mut Vec<u8>,
    path: &RelativePath,
    fingerprint: &FileFingerprint,
    is_settled: bool,
    blob: Option<&BlobId>,
) {
    let FileFingerprint {
        mode,
        size,
        inode,
        modified,
        changed,
    } = fingerprint;
    let is_settled = u8::from(is_settled);
    // Writing to a vector cannot fail.
    let _ = write!(
        bytes,
        "{is_settled} {mode:o} {size} {inode} {} {} {} {} ",
        modified.0, modified.1, changed.0, changed.1
    );
    let _ = match blob {
        Some(blob) => write!(bytes, "{blob} "),
        None => write!(bytes, "- "),
    };
    bytes.extend_from_slice(path.as_os_str().as_bytes());
    bytes.push(0);
}

/// Parses what [`append_file_record`] wrote, without the final NUL.
pub(super) fn parse_file_record(
    record: &[u8],
) -> Option<(RelativePath, FileFingerprint, bool, Option<BlobId>)> {
    let mut fields = record.splitn(10, |byte| *byte == b' ');
    let mut text = || str::from_utf8(fields.next()?).ok();
    let is_settled = text()? == "1";
    let fingerprint = FileFingerprint {
        mode: u32::from_str_radix(text()?, 8).ok()?,
        size: text()?.parse().ok()?,
        inode: text()?.parse().ok()?,
        modified: (text()?.parse().ok()?, text()?.parse().ok()?),
        changed: (text()?.parse().ok()?, text()?.parse().ok()?),
    };
    let blob = match fields.next()? {
        b"-" => None,
        hex => Some(BlobId::from_hex(hex)?),
    };
    Some((
        RelativePath::from_bytes(fields.next()?),
        fingerprint,
        is_settled,
        blob,
    ))
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
