//! Bringing the shadow directory from the last snapshot to a new one: which files must be read, and
//! what of them is new.

use std::collections::{BTreeMap, BTreeSet};
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

/// Files up to this size are read whole.
const MAX_WHOLE_READ_BYTES: u64 = 1024 * 1024;

/// A snapshot in the making.
pub(super) struct SnapshotWriter<'a> {
    workspace: &'a Workspace,
    anchor: DirHandle,
    import: SnapshotImport<'a>,
    last: Option<Inventory>,
    /// Whether the inventory of the last snapshot is out of date.
    is_inventory_stale: bool,
}

/// A snapshot's content before it has a name.
struct SnapshotDraft {
    files: BTreeMap<RelativePath, StoredEntry>,
    folders: BTreeMap<RelativePath, u32>,
    empty: BTreeSet<RelativePath>,
    excluded: Vec<ExcludedPath>,
}

/// What became of a file between the survey and its reading.
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

    /// Takes out what the survey no longer covers.
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

    /// Puts in what the survey found, and ends the snapshot.
    pub(super) fn store(
        mut self,
        survey: Survey,
        rules: CacheRules,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let Survey {
            files: surveyed,
            folders,
            empty,
            excluded: left_out,
        } = survey;
        let mut taken = SnapshotDraft {
            files: BTreeMap::new(),
            folders,
            empty,
            excluded: left_out,
        };
        for (path, print) in surveyed {
            let known = self
                .last
                .as_ref()
                .and_then(|last| last.files.get(&path))
                .copied();
            match known.filter(|known| known.is_settled && known.fingerprint == print) {
                Some(known) => drop(taken.files.insert(path, known)),
                None => self.add_file(&mut taken, path, print, known)?,
            }
        }
        self.finish(taken, rules)
    }

    /// Puts more into a snapshot whose inventory this was begun with.
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
            excluded: left_out,
            ..
        } = taken;
        folders.extend(more.folders);
        empty.extend(more.empty);
        let mut taken = SnapshotDraft {
            files,
            folders,
            empty,
            excluded: left_out,
        };
        for (path, print) in more.files {
            self.add_file(&mut taken, path, print, None)?;
        }
        self.finish(taken, rules)
    }

    fn add_file(
        &mut self,
        taken: &mut SnapshotDraft,
        path: RelativePath,
        print: FileFingerprint,
        known: Option<StoredEntry>,
    ) -> Result<(), WorkspaceError> {
        self.is_inventory_stale = true;
        match self.read(&path, print, known)? {
            ReadOutcome::Stored(stored) => {
                taken.files.insert(path, stored);
                return Ok(());
            }
            ReadOutcome::Missing => {}
            ReadOutcome::Unreadable => taken.excluded.push(ExcludedPath {
                path: path.to_path_buf(),
                reason: ExclusionReason::Unreadable,
                size: Some(print.size),
            }),
        }
        if known.is_some() {
            self.import.remove(&stored_path(&path))
        } else {
            Ok(())
        }
    }

    fn finish(
        mut self,
        taken: SnapshotDraft,
        rules: CacheRules,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let SnapshotDraft {
            files,
            folders,
            empty,
            excluded: left_out,
        } = taken;
        let bytes = SnapshotManifest::new(rules, &files, &folders, &empty).to_bytes();
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
        Ok(DetailedSnapshot {
            tree,
            manifest,
            files,
            folders,
            empty,
            excluded: left_out,
        })
    }

    fn read(
        &mut self,
        path: &Path,
        print: FileFingerprint,
        known: Option<StoredEntry>,
    ) -> Result<ReadOutcome, WorkspaceError> {
        let read = if print.is_link() {
            self.read_link(path, print, known)
        } else {
            self.read_file(path, known)
        };
        match read {
            Ok(stored) => Ok(ReadOutcome::Stored(stored?)),
            // A link or pipe that took a file's name since the survey counts as its going away.
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
        print: FileFingerprint,
        known: Option<StoredEntry>,
    ) -> io::Result<Result<StoredEntry, WorkspaceError>> {
        let settled = print.is_settled_at(SystemTime::now());
        let target = self.anchor.read_link(path)?;
        let bytes = target.as_os_str().as_bytes();
        Ok(self.add_bytes(path, print, settled, bytes, known))
    }

    fn read_file(
        &mut self,
        path: &Path,
        known: Option<StoredEntry>,
    ) -> io::Result<Result<StoredEntry, WorkspaceError>> {
        let mut file = self.anchor.open(path)?;
        let print = FileFingerprint::from_metadata(&file.metadata()?);
        let settled = print.is_settled_at(SystemTime::now());
        if print.size > MAX_WHOLE_READ_BYTES {
            return Ok(self.add_stream(path, print, settled, file));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(print.size).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        Ok(self.add_bytes(path, print, settled, &bytes, known))
    }

    fn add_bytes(
        &mut self,
        path: &Path,
        print: FileFingerprint,
        settled: bool,
        bytes: &[u8],
        known: Option<StoredEntry>,
    ) -> Result<StoredEntry, WorkspaceError> {
        let blob = BlobId::of(bytes);
        let kind = file_kind(&print);
        if known.is_none_or(|known| known.blob != blob || file_kind(&known.fingerprint) != kind) {
            self.import.add(&stored_path(path), kind, bytes)?;
        }
        Ok(StoredEntry {
            fingerprint: print,
            blob,
            is_settled: settled,
        })
    }

    fn add_stream(
        &mut self,
        path: &Path,
        print: FileFingerprint,
        settled: bool,
        file: File,
    ) -> Result<StoredEntry, WorkspaceError> {
        let mut bytes = HashingReader {
            source: file,
            hasher: BlobHasher::new(print.size),
        };
        if self.import.add_from(
            &stored_path(path),
            file_kind(&print),
            print.size,
            &mut bytes,
        )? {
            Ok(StoredEntry {
                fingerprint: print,
                blob: bytes.hasher.finish(),
                is_settled: settled,
            })
        } else {
            Err(WorkspaceError::ChangedWhileRead {
                path: path.to_owned(),
            })
        }
    }
}

/// Hashes what goes through.
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

/// What git is to call a file.
pub(super) fn file_kind(print: &FileFingerprint) -> FileKind {
    if print.is_link() {
        FileKind::Link
    } else if is_executable(print.permissions()) {
        FileKind::Executable
    } else {
        FileKind::Plain
    }
}
