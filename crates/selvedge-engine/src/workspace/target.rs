//! The content of a stored snapshot, as a restore needs it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use selvedge_core::model::TreeId;

use super::Workspace;
use super::blobs::BlobReader;
use super::error::WorkspaceError;
use super::git;
use super::ids::BlobId;
use super::import::{FILES_FOLDER, FileKind, MANIFEST_FILE};
use super::inventory::StoredEntry;
use super::manifest::{EXECUTABLE_MODE, SnapshotManifest, default_permissions, parent_folders};
use super::relative::RelativePath;
use super::store::file_kind;

const DOING: &str = "read a snapshot";

/// A file or link of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TargetFile {
    pub(super) kind: FileKind,
    pub(super) blob: BlobId,
    pub(super) permissions: u32,
}

/// All files and folders of a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RestoreTarget {
    pub(super) files: BTreeMap<RelativePath, TargetFile>,
    /// All folders, with their permission bits.
    pub(super) folders: BTreeMap<RelativePath, u32>,
    pub(super) manifest: SnapshotManifest,
}

impl RestoreTarget {
    /// Combines the files of a tree, without permission bits, with its manifest.
    fn new(
        files: impl Iterator<Item = (RelativePath, FileKind, BlobId)>,
        manifest: SnapshotManifest,
    ) -> Self {
        let files: BTreeMap<_, _> = files
            .map(|(path, kind, blob)| {
                let permissions = manifest.files.get(&path).copied();
                let permissions = permissions
                    .unwrap_or_else(|| default_permissions(kind == FileKind::Executable));
                let file = TargetFile {
                    kind,
                    blob,
                    permissions,
                };
                (path, file)
            })
            .collect();
        let mut folders = manifest.folders.clone();
        for parent in parent_folders(files.keys().chain(manifest.folders.keys())) {
            if !parent.is_empty() && !folders.contains_key(parent) {
                folders.insert(Path::new(parent).into(), EXECUTABLE_MODE);
            }
        }
        Self {
            files,
            folders,
            manifest,
        }
    }

    /// The content of a snapshot that was just stored.
    pub(super) fn of_stored(
        files: &BTreeMap<RelativePath, StoredEntry>,
        manifest: SnapshotManifest,
    ) -> Self {
        let files = files.iter().map(|(path, stored)| {
            let kind = file_kind(&stored.fingerprint);
            (path.clone(), kind, stored.blob)
        });
        Self::new(files, manifest)
    }
}

impl Workspace {
    pub(super) fn restore_target(
        &self,
        tree: &TreeId,
        blobs: &mut BlobReader,
    ) -> Result<Arc<RestoreTarget>, WorkspaceError> {
        if let Some(known) = self.trees.get(tree) {
            return Ok(known);
        }
        let read = self.read_target(tree, blobs)?;
        Ok(self.trees.put(tree, || read))
    }

    fn read_target(
        &self,
        tree: &TreeId,
        blobs: &mut BlobReader,
    ) -> Result<RestoreTarget, WorkspaceError> {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["ls-tree", "-r", "-z", "--full-tree", tree.as_str()]);
        let listing = match git::output_of(command, DOING, place) {
            Err(WorkspaceError::Git { .. }) if !self.contains(tree)? => {
                return Err(self.unknown_snapshot(tree));
            }
            other => other?,
        };
        let unexpected_answer = |detail: String| WorkspaceError::UnexpectedAnswer {
            doing: DOING,
            place: place.to_owned(),
            detail,
        };
        let manifest =
            SnapshotManifest::from_bytes(&blobs.read(&format!("{tree}:{MANIFEST_FILE}"))?)
                .ok_or_else(|| unexpected_answer(format!("{tree} has no manifest")))?;
        let mut files = Vec::new();
        for record in listing
            .split(|byte| *byte == 0)
            .filter(|record| !record.is_empty())
        {
            let (path, kind, blob) = parse_entry(record)
                .ok_or_else(|| unexpected_answer(String::from_utf8_lossy(record).into_owned()))?;
            files.extend(workspace_path(path).map(|path| (path, kind, blob)));
        }
        Ok(RestoreTarget::new(files.into_iter(), manifest))
    }
}

/// Parses `MODE blob ID\tPATH`.
fn parse_entry(record: &[u8]) -> Option<(&[u8], FileKind, BlobId)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (&record[..tab], &record[tab + 1..]);
    let mut fields = head.split(|byte| *byte == b' ');
    let kind = FileKind::from_git_mode(fields.next()?)?;
    let blob = BlobId::from_hex(fields.nth(1)?)?;
    Some((path, kind, blob))
}

/// Converts a path of the stored tree to a path of the workspace. Returns `None` for entries outside of the files
/// folder.
fn workspace_path(path: &[u8]) -> Option<RelativePath> {
    let below = path
        .strip_prefix(FILES_FOLDER.as_bytes())?
        .strip_prefix(b"/")?;
    Some(RelativePath::from_bytes(below))
}
