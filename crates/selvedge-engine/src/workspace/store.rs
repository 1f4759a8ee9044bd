//! Updates the shadow directory from the last snapshot to a new one: decides which files must be read, and stores new
//! content.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::io::Errno;

use super::Workspace;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::exclusions::{CacheRules, ExcludedPath, ExclusionReason};
use super::fingerprint::FileFingerprint;
use super::ids::{BlobHasher, BlobId};
use super::import::{FILES_FOLDER, FileKind, MANIFEST_FILE, SnapshotImport};
use super::inventory::{Inventory, StoredEntry};
use super::manifest::{SnapshotManifest, is_executable};
use super::relative::RelativePath;
use super::snapshot::DetailedSnapshot;
use super::survey::Survey;
use super::target::RestoreTarget;
use super::tree_cache::TreeCache;

/// Maximum size of a file that is read into memory.
const MAX_WHOLE_READ_BYTES: u64 = 1024 * 1024;

/// A snapshot that is being written.
pub(super) struct SnapshotWriter<'a> {
    workspace: &'a Workspace,
    anchor: DirHandle,
    import: SnapshotImport<'a>,
    last: Option<Inventory>,
    /// Whether the saved inventory has to be replaced.
    is_inventory_stale: bool,
}

/// A snapshot's content before it has an id.
struct SnapshotDraft {
    files: BTreeMap<RelativePath, StoredEntry>,
    folders: BTreeMap<RelativePath, u32>,
    empty: BTreeSet<RelativePath>,
    excluded: Vec<ExcludedPath>,
    unignored: Option<HashSet<RelativePath>>,
}

/// Result of reading a file after the survey.
enum ReadOutcome {
    Stored(StoredEntry),
    Missing,
    Unreadable,
}

impl<'a> SnapshotWriter<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        label: &'a str,
        last: Option<Inventory>,
    ) -> Result<Self, WorkspaceError> {
        let anchor = DirHandle::open_root(&workspace.dir)
            .map_err(|e| WorkspaceError::io("open", &workspace.dir, e))?;
        let base = last.as_ref().map(|last| last.tree.clone());
        let import = SnapshotImport::new(&workspace.git, &workspace.shadow, base, label);
        Ok(Self {
            workspace,
            anchor,
            import,
            last,
            is_inventory_stale: false,
        })
    }

    /// Removes files that the survey no longer covers.
    pub(super) fn remove_all_but(&mut self, survey: &Survey) -> Result<(), WorkspaceError> {
        let Some(last) = &self.last else {
            return Ok(());
        };
        for path in last
            .files
            .keys()
            .filter(|path| !survey.files.contains_key(*path))
        {
            self.import.remove(&stored_path(path))?;
            self.is_inventory_stale = true;
        }
        Ok(())
    }

    /// Adds the surveyed files and finishes the snapshot.
    pub(super) fn store(
        mut self,
        survey: Survey,
        rules: CacheRules,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let Survey {
            files: surveyed,
            folders,
            empty,
            excluded,
            unignored,
        } = survey;
        let mut draft = SnapshotDraft {
            files: BTreeMap::new(),
            folders,
            empty,
            excluded,
            unignored,
        };
        for (path, fingerprint) in surveyed {
            let previous = self
                .last
                .as_ref()
                .and_then(|last| last.files.get(&path))
                .copied();
            match previous
                .filter(|previous| previous.is_settled && previous.fingerprint == fingerprint)
            {
                Some(previous) => drop(draft.files.insert(path, previous)),
                None => self.add_file(&mut draft, path, fingerprint, previous)?,
            }
        }
        self.finish(draft, rules)
    }

    /// Adds more files to the snapshot whose inventory was passed to [`Self::new`].
    pub(super) fn extend(
        mut self,
        taken: DetailedSnapshot,
        more: Survey,
        rules: CacheRules,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let DetailedSnapshot {
            files,
            mut folders,
            mut empty,
            excluded,
            unignored,
            ..
        } = taken;
        folders.extend(more.folders);
        empty.extend(more.empty);
        let mut taken = SnapshotDraft {
            files,
            folders,
            empty,
            excluded,
            unignored,
        };
        for (path, fingerprint) in more.files {
            self.add_file(&mut taken, path, fingerprint, None)?;
        }
        self.finish(taken, rules)
    }

    fn add_file(
        &mut self,
        draft: &mut SnapshotDraft,
        path: RelativePath,
        fingerprint: FileFingerprint,
        previous: Option<StoredEntry>,
    ) -> Result<(), WorkspaceError> {
        self.is_inventory_stale = true;
        match self.read(&path, fingerprint, previous)? {
            ReadOutcome::Stored(stored) => {
                draft.files.insert(path, stored);
                return Ok(());
            }
            ReadOutcome::Missing => {}
            ReadOutcome::Unreadable => draft.excluded.push(ExcludedPath {
                path: path.to_path_buf(),
                reason: ExclusionReason::Unreadable,
                size: Some(fingerprint.size),
            }),
        }
        if previous.is_some() {
            self.import.remove(&stored_path(&path))
        } else {
            Ok(())
        }
    }

    fn finish(
        mut self,
        draft: SnapshotDraft,
        rules: CacheRules,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let SnapshotDraft {
            files,
            folders,
            empty,
            excluded,
            unignored,
        } = draft;
        let content = SnapshotManifest::new(rules, &files, &folders, &empty);
        let bytes = content.to_bytes();
        let manifest = BlobId::of(&bytes);
        if self
            .last
            .as_ref()
            .is_none_or(|last| last.manifest != manifest)
        {
            self.is_inventory_stale = true;
            self.import
                .add(Path::new(MANIFEST_FILE), FileKind::Plain, &bytes)?;
        }
        let inventory = Inventory {
            tree: self.import.finish()?,
            manifest,
            files,
        };
        if self.is_inventory_stale {
            inventory.save(&self.workspace.shadow.inventory())?;
        }
        let Inventory { tree, files, .. } = inventory;
        if TreeCache::has_room_for(files.len()) {
            let stored = || RestoreTarget::of_stored(&files, content);
            self.workspace.trees.put(&tree, stored);
        }
        Ok(DetailedSnapshot {
            tree,
            manifest,
            files,
            folders,
            empty,
            excluded,
            unignored,
        })
    }

    fn read(
        &mut self,
        path: &Path,
        fingerprint: FileFingerprint,
        previous: Option<StoredEntry>,
    ) -> Result<ReadOutcome, WorkspaceError> {
        let read = if fingerprint.is_link() {
            self.read_link(path, fingerprint, previous)
        } else {
            self.read_file(path, previous)
        };
        match read {
            Ok(stored) => Ok(ReadOutcome::Stored(stored?)),
            // A link or pipe that has replaced the file since the survey counts as a removal.
            Err(e) => match Errno::from_io_error(&e) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => {
                    Ok(ReadOutcome::Missing)
                }
                Some(Errno::ACCESS | Errno::PERM) => Ok(ReadOutcome::Unreadable),
                _ => Err(WorkspaceError::io(
                    "read",
                    &self.workspace.dir.join(path),
                    e,
                )),
            },
        }
    }

    fn read_link(
        &mut self,
        path: &Path,
        fingerprint: FileFingerprint,
        previous: Option<StoredEntry>,
    ) -> io::Result<Result<StoredEntry, WorkspaceError>> {
        let is_settled = fingerprint.is_settled_at(SystemTime::now());
        let target = self.anchor.read_link(path)?;
        let bytes = target.as_os_str().as_bytes();
        Ok(self.add_bytes(path, fingerprint, is_settled, bytes, previous))
    }

    fn read_file(
        &mut self,
        path: &Path,
        previous: Option<StoredEntry>,
    ) -> io::Result<Result<StoredEntry, WorkspaceError>> {
        let mut file = self.anchor.open(path)?;
        let fingerprint = FileFingerprint::from_metadata(&file.metadata()?);
        let is_settled = fingerprint.is_settled_at(SystemTime::now());
        if fingerprint.size > MAX_WHOLE_READ_BYTES {
            return Ok(self.add_stream(path, fingerprint, is_settled, file));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(fingerprint.size).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        Ok(self.add_bytes(path, fingerprint, is_settled, &bytes, previous))
    }

    fn add_bytes(
        &mut self,
        path: &Path,
        fingerprint: FileFingerprint,
        is_settled: bool,
        bytes: &[u8],
        previous: Option<StoredEntry>,
    ) -> Result<StoredEntry, WorkspaceError> {
        let blob = BlobId::of(bytes);
        let kind = file_kind(&fingerprint);
        if previous.is_none_or(|previous| {
            previous.blob != blob || file_kind(&previous.fingerprint) != kind
        }) {
            self.import.add(&stored_path(path), kind, bytes)?;
        }
        Ok(StoredEntry {
            fingerprint,
            blob,
            is_settled,
        })
    }

    fn add_stream(
        &mut self,
        path: &Path,
        fingerprint: FileFingerprint,
        is_settled: bool,
        file: File,
    ) -> Result<StoredEntry, WorkspaceError> {
        let mut bytes = HashingReader {
            source: file,
            hasher: BlobHasher::new(fingerprint.size),
        };
        if self.import.add_from(
            &stored_path(path),
            file_kind(&fingerprint),
            fingerprint.size,
            &mut bytes,
        )? {
            Ok(StoredEntry {
                fingerprint,
                blob: bytes.hasher.finish(),
                is_settled,
            })
        } else {
            Err(WorkspaceError::ChangedWhileRead {
                path: path.to_owned(),
            })
        }
    }
}

/// A reader that hashes the bytes it returns.
struct HashingReader {
    source: File,
    hasher: BlobHasher,
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

fn stored_path(path: &Path) -> PathBuf {
    Path::new(FILES_FOLDER).join(path)
}

/// Returns git's kind of a file.
pub(super) fn file_kind(fingerprint: &FileFingerprint) -> FileKind {
    if fingerprint.is_link() {
        FileKind::Link
    } else if is_executable(fingerprint.permissions()) {
        FileKind::Executable
    } else {
        FileKind::Plain
    }
}
