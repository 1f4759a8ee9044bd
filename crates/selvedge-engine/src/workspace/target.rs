//! What a stored snapshot wants the workspace to be.

use std::collections::BTreeMap;
use std::path::Path;

use super::Workspace;
use super::blobs::Blobs;
use super::error::WorkspaceError;
use super::git;
use super::ids::{BlobId, TreeId};
use super::import::{FILES, Kind, MANIFEST};
use super::manifest::{EXECUTABLE, Manifest, parents, usual_permissions};
use super::relative::Relative;

const DOING: &str = "read a snapshot";

/// A file or link of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) blob: BlobId,
    pub(super) permissions: u32,
}

/// A snapshot, spelled out.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) files: BTreeMap<Relative, Wanted>,
    /// Every folder, with its permission bits.
    pub(super) folders: BTreeMap<Relative, u32>,
    pub(super) manifest: Manifest,
}

impl Workspace {
    pub(super) fn target(
        &self,
        tree: &TreeId,
        blobs: &mut Blobs,
    ) -> Result<Target, WorkspaceError> {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["ls-tree", "-r", "-z", "--full-tree", tree.as_str()]);
        let listing = match git::answer(command, DOING, place) {
            Err(WorkspaceError::Git { .. }) if !self.contains(tree)? => {
                return Err(self.unknown(tree));
            }
            other => other?,
        };
        let strange = |detail: String| WorkspaceError::UnexpectedAnswer {
            doing: DOING,
            place: place.to_owned(),
            detail,
        };
        let manifest = Manifest::from_bytes(&blobs.read(&format!("{tree}:{MANIFEST}"))?)
            .ok_or_else(|| strange(format!("{tree} has no manifest")))?;
        let mut files = BTreeMap::new();
        for record in listing
            .split(|byte| *byte == 0)
            .filter(|record| !record.is_empty())
        {
            let (path, kind, blob) = entry(record)
                .ok_or_else(|| strange(String::from_utf8_lossy(record).into_owned()))?;
            let Some(path) = below_files(path) else {
                continue;
            };
            let permissions = manifest.files.get(&path).copied();
            let permissions =
                permissions.unwrap_or_else(|| usual_permissions(kind == Kind::Executable));
            files.insert(
                path,
                Wanted {
                    kind,
                    blob,
                    permissions,
                },
            );
        }
        let mut folders = manifest.folders.clone();
        for parent in parents(files.keys().chain(manifest.folders.keys())) {
            if !parent.is_empty() && !folders.contains_key(parent) {
                folders.insert(Path::new(parent).into(), EXECUTABLE);
            }
        }
        Ok(Target {
            files,
            folders,
            manifest,
        })
    }
}

/// Reads `MODE blob ID\tPATH`.
fn entry(record: &[u8]) -> Option<(&[u8], Kind, BlobId)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (&record[..tab], &record[tab + 1..]);
    let mut fields = head.split(|byte| *byte == b' ');
    let kind = Kind::from_git_mode(fields.next()?)?;
    let blob = BlobId::from_hex(fields.nth(1)?)?;
    Some((path, kind, blob))
}

/// A path of the stored tree as the workspace has it; none for what stands beside the files.
fn below_files(path: &[u8]) -> Option<Relative> {
    let below = path.strip_prefix(FILES.as_bytes())?.strip_prefix(b"/")?;
    Some(Relative::from_bytes(below))
}
