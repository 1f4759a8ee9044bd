//! Opens the snapshots of a workspace for another folder.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use selvedge_core::model::TreeId;

use super::DOING;
use super::files::make_folder;
use super::reuse::{self, ReusableFiles};
use super::times::{nanoseconds, start_times, system_time};
use crate::workspace::Workspace;
use crate::workspace::blobs::BlobReader;
use crate::workspace::dir_handle::DirHandle;
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::ids::BlobId;
use crate::workspace::inventory::{Inventory, StoredEntry};
use crate::workspace::manifest::parent_folders;
use crate::workspace::relative::RelativePath;
use crate::workspace::repository::Repository;
use crate::workspace::restore::{is_stored_as, write};
use crate::workspace::survey::Survey;

impl Workspace {
    /// Opens another folder, which belongs to Selvedge, with the same snapshots; their objects are shared, not copied.
    /// `root` is the root of its repository, if this workspace is in one.
    pub(super) fn for_other_folder(
        &self,
        dir: &Path,
        root: &Path,
        shadow_dir: &Path,
    ) -> Result<Self, WorkspaceError> {
        let opened = Self::open(dir, shadow_dir)?;
        let info = opened.shadow.dir().join("objects/info");
        make_folder(&info)?;
        let own_objects = [
            self.shadow.dir().join("objects").as_os_str().as_bytes(),
            b"\n",
        ]
        .concat();
        let alternates = info.join("alternates");
        fs::write(&alternates, own_objects)
            .map_err(|error| WorkspaceError::io(DOING, &alternates, error))?;
        let root = fs::canonicalize(root).map_err(|e| WorkspaceError::io("find", root, e))?;
        let is_git = self.repository.is_some();
        Ok(Self {
            git: self.git.clone(),
            limits: self.limits,
            excludes: self.excludes.clone(),
            trees: self.trees.clone(),
            is_disposable: true,
            repository: Repository::at(&root).filter(|_| is_git),
            ..opened
        })
    }

    /// Writes a snapshot to this folder, except for the files that are already there: `existing` are all files in it.
    /// Returns what is in the folder then.
    /// The files get the times that a new room of `origin` has.
    pub(super) fn write_snapshot(
        &self,
        origin: &Self,
        tree: &TreeId,
        existing: ReusableFiles,
    ) -> Result<Survey, WorkspaceError> {
        let _lock = self.shadow.lock()?;
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let target = self.restore_target(tree, &mut blobs)?;
        let times = start_times(origin, &target.files);
        let time_of = |path: &RelativePath| times.get(path).copied().map(system_time);
        let to_error = |path: &Path, error| WorkspaceError::io(DOING, &self.dir.join(path), error);
        let (mut files, other): (ReusableFiles, ReusableFiles) =
            existing.into_iter().partition(|(path, stored)| {
                let wanted = target.files.get(path);
                wanted.is_some_and(|wanted| is_stored_as(stored, wanted))
            });
        reuse::remove_files(&self.dir, other.keys(), |folder| {
            target.folders.contains_key(folder)
        })?;
        let anchor =
            DirHandle::open_root(&self.dir).map_err(|error| to_error(Path::new(""), error))?;
        for path in target.folders.keys() {
            anchor
                .make_folder(path)
                .map_err(|error| to_error(path, error))?;
        }
        let wanted = target.files.iter();
        let missing: Vec<_> = wanted
            .filter(|(path, _)| !files.contains_key(*path))
            .collect();
        let names = missing.iter().map(|(_, wanted)| wanted.blob.to_string());
        blobs
            .request_all(names.collect())
            .map_err(|error| to_error(Path::new(""), error))?;
        let mut written = Vec::new();
        for (path, wanted) in missing {
            write(&anchor, &mut blobs, path, wanted, time_of(path))
                .map_err(|error| to_error(path, error))?;
            written.push((path, wanted));
        }
        for (path, stored) in files
            .iter()
            .filter(|(_, stored)| !stored.fingerprint.is_link())
        {
            let (Some((path, wanted)), Some(time)) =
                (target.files.get_key_value(path), times.get(path))
            else {
                continue;
            };
            if nanoseconds(stored.fingerprint.modified) != *time {
                anchor
                    .set_modified(path, system_time(*time))
                    .map_err(|error| to_error(path, error))?;
                written.push((path, wanted));
            }
        }
        for (path, wanted) in written {
            let data = self.dir.join(&**path).symlink_metadata();
            let data = data.map_err(|error| to_error(path, error))?;
            let stored = StoredEntry {
                fingerprint: FileFingerprint::from_metadata(&data),
                blob: wanted.blob,
                is_settled: false,
            };
            files.insert(path.clone(), stored);
        }
        for (path, bits) in target.folders.iter().rev() {
            let set = anchor.set_permissions(path, *bits);
            set.map_err(|error| to_error(path, error))?;
        }
        let inventory = Inventory {
            tree: tree.clone(),
            manifest: BlobId::of(&target.manifest.to_bytes()),
            files,
        };
        inventory.save(&self.shadow.inventory())?;
        let folders = target.folders.clone();
        let parents = parent_folders(inventory.files.keys().chain(folders.keys()));
        let is_empty = |folder: &&RelativePath| !parents.contains(folder.as_os_str());
        let empty = folders.keys().filter(is_empty).cloned().collect();
        let files = inventory.files.iter();
        let files = files.map(|(path, stored)| (path.clone(), stored.fingerprint));
        Ok(Survey {
            files: files.collect(),
            folders,
            empty,
            excluded: Vec::new(),
            unignored: None,
        })
    }

    /// Returns the paths of files that differ between two snapshots.
    pub(super) fn differing_paths(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let differences = self.differences(from, to)?;
        Ok(differences.into_iter().map(|file| file.path).collect())
    }
}
