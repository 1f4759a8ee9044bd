//! Records of files in the lists that are stored next to snapshots: a fixed number of bytes for what is known of a file,
//! and its path. Lists are read and written several times in each run, so numbers and ids are not converted to text.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

use super::fingerprint::FileFingerprint;
use super::ids::BlobId;
use super::relative::RelativePath;

/// What is stored of a file or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileRecord {
    pub(super) fingerprint: FileFingerprint,
    /// Whether an equal fingerprint means equal bytes.
    pub(super) is_settled: bool,
    /// `None` if the file was too large to be read.
    pub(super) blob: Option<BlobId>,
}

impl FileRecord {
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>, path: &RelativePath) {
        let FileFingerprint {
            mode,
            size,
            inode,
            modified,
            changed,
        } = self.fingerprint;
        let path = path.as_os_str().as_bytes();
        bytes.extend_from_slice(&(path.len() as u64).to_le_bytes());
        bytes.extend_from_slice(path);
        bytes.extend_from_slice(&mode.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&inode.to_le_bytes());
        for number in [modified.0, modified.1, changed.0, changed.1] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.push(self.is_settled.into());
        bytes.push(self.blob.is_some().into());
        if let Some(blob) = self.blob {
            bytes.extend_from_slice(&blob.to_bytes());
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<(RelativePath, Self)> {
        let length = usize::try_from(u64::from_le_bytes(take_array(bytes)?)).ok()?;
        let (path, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        let fingerprint = FileFingerprint {
            mode: u32::from_le_bytes(take_array(bytes)?),
            size: u64::from_le_bytes(take_array(bytes)?),
            inode: u64::from_le_bytes(take_array(bytes)?),
            modified: take_time(bytes)?,
            changed: take_time(bytes)?,
        };
        let [is_settled, has_blob] = take_array(bytes)?;
        let blob = match has_blob {
            0 => None,
            _ => Some(BlobId::from_bytes(take_array(bytes)?)),
        };
        let record = Self {
            fingerprint,
            is_settled: is_settled == 1,
            blob,
        };
        Some((RelativePath::from_bytes(path), record))
    }
}

/// Reads records up to the end; `None` if one is incomplete.
pub(super) fn read_all<T>(
    mut bytes: &[u8],
    convert: impl Fn(FileRecord) -> Option<T>,
) -> Option<BTreeMap<RelativePath, T>> {
    let mut files = Vec::new();
    while !bytes.is_empty() {
        let (path, record) = FileRecord::take(&mut bytes)?;
        files.push((path, convert(record)?));
    }
    Some(files.into_iter().collect())
}

/// Takes the text before the next NUL, and the NUL.
pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = &bytes[..end];
    *bytes = &bytes[end + 1..];
    Some(text)
}

fn take_time(bytes: &mut &[u8]) -> Option<(i64, i64)> {
    let seconds = i64::from_le_bytes(take_array(bytes)?);
    Some((seconds, i64::from_le_bytes(take_array(bytes)?)))
}

fn take_array<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (array, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*array)
}
