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
use super::anchored::Anchor;
use super::coverage::{LeftOut, Reason, Rules};
use super::error::WorkspaceError;
use super::fingerprint::Fingerprint;
use super::ids::{BlobHasher, BlobId};
use super::import::{FILES, Import, Kind, MANIFEST};
use super::inventory::{Inventory, Stored};
use super::manifest::{Manifest, is_executable};
use super::relative::Relative;
use super::snapshot::Taken;
use super::survey::Survey;

/// Files up to this size are read whole.
const WHOLE: u64 = 1024 * 1024;

/// A snapshot in the making.
pub(super) struct Store<'a> {
    workspace: &'a Workspace,
    anchor: Anchor,
    import: Import<'a>,
    last: Option<Inventory>,
    /// Whether the inventory of the last snapshot is out of date.
    learnt: bool,
}

/// A snapshot's content before it has a name.
struct Unfinished {
    files: BTreeMap<Relative, Stored>,
    folders: BTreeMap<Relative, u32>,
    empty: BTreeSet<Relative>,
    left_out: Vec<LeftOut>,
}

/// What became of a file between the survey and its reading.
enum Found {
    Stored(Stored),
    Gone,
    Unreadable,
}

impl<'a> Store<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        label: &'a str,
        last: Option<Inventory>,
    ) -> Result<Self, WorkspaceError> {
        let anchor = Anchor::at(&workspace.dir)
            .map_err(|e| WorkspaceError::io("open", &workspace.dir, e))?;
        let base = last.as_ref().map(|last| last.tree.clone());
        let import = Import::new(&workspace.git, &workspace.shadow, base, label);
        Ok(Self {
            workspace,
            anchor,
            import,
            last,
            learnt: false,
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
            self.learnt = true;
        }
        Ok(())
    }

    /// Puts in what the survey found, and ends the snapshot.
    pub(super) fn add(mut self, survey: Survey, rules: Rules) -> Result<Taken, WorkspaceError> {
        let Survey {
            files: surveyed,
            folders,
            empty,
            left_out,
        } = survey;
        let mut taken = Unfinished {
            files: BTreeMap::new(),
            folders,
            empty,
            left_out,
        };
        for (path, print) in surveyed {
            let known = self
                .last
                .as_ref()
                .and_then(|last| last.files.get(&path))
                .copied();
            match known.filter(|known| known.settled && known.print == print) {
                Some(known) => drop(taken.files.insert(path, known)),
                None => self.add_file(&mut taken, path, print, known)?,
            }
        }
        self.finish(taken, rules)
    }

    /// Puts more into a snapshot whose inventory this was begun with.
    pub(super) fn add_to(
        mut self,
        taken: Taken,
        more: Survey,
        rules: Rules,
    ) -> Result<Taken, WorkspaceError> {
        let Taken {
            files,
            mut folders,
            mut empty,
            left_out,
            ..
        } = taken;
        folders.extend(more.folders);
        empty.extend(more.empty);
        let mut taken = Unfinished {
            files,
            folders,
            empty,
            left_out,
        };
        for (path, print) in more.files {
            self.add_file(&mut taken, path, print, None)?;
        }
        self.finish(taken, rules)
    }

    fn add_file(
        &mut self,
        taken: &mut Unfinished,
        path: Relative,
        print: Fingerprint,
        known: Option<Stored>,
    ) -> Result<(), WorkspaceError> {
        self.learnt = true;
        match self.read(&path, print, known)? {
            Found::Stored(stored) => {
                taken.files.insert(path, stored);
                return Ok(());
            }
            Found::Gone => {}
            Found::Unreadable => taken.left_out.push(LeftOut {
                path: path.to_path_buf(),
                reason: Reason::Unreadable,
                size: Some(print.size),
            }),
        }
        if known.is_some() {
            self.import.remove(&stored_path(&path))
        } else {
            Ok(())
        }
    }

    fn finish(mut self, taken: Unfinished, rules: Rules) -> Result<Taken, WorkspaceError> {
        let Unfinished {
            files,
            folders,
            empty,
            left_out,
        } = taken;
        let bytes = Manifest::of(rules, &files, &folders, &empty).to_bytes();
        let manifest = BlobId::of(&bytes);
        if self
            .last
            .as_ref()
            .is_none_or(|last| last.manifest != manifest)
        {
            self.learnt = true;
            self.import.add(Path::new(MANIFEST), Kind::Plain, &bytes)?;
        }
        let inventory = Inventory {
            tree: self.import.finish()?,
            manifest,
            files,
        };
        if self.learnt {
            inventory.save(&self.workspace.shadow.inventory())?;
        }
        let Inventory { tree, files, .. } = inventory;
        Ok(Taken {
            tree,
            manifest,
            files,
            folders,
            empty,
            left_out,
        })
    }

    fn read(
        &mut self,
        path: &Path,
        print: Fingerprint,
        known: Option<Stored>,
    ) -> Result<Found, WorkspaceError> {
        let read = if print.is_link() {
            self.read_link(path, print, known)
        } else {
            self.read_file(path, known)
        };
        match read {
            Ok(stored) => Ok(Found::Stored(stored?)),
            // A link or pipe that took a file's name since the survey counts as its going away.
            Err(e) => match Errno::from_io_error(&e) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => Ok(Found::Gone),
                Some(Errno::ACCESS | Errno::PERM) => Ok(Found::Unreadable),
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
        print: Fingerprint,
        known: Option<Stored>,
    ) -> io::Result<Result<Stored, WorkspaceError>> {
        let settled = print.settled_at(SystemTime::now());
        let target = self.anchor.read_link(path)?;
        let bytes = target.as_os_str().as_bytes();
        Ok(self.add_bytes(path, print, settled, bytes, known))
    }

    fn read_file(
        &mut self,
        path: &Path,
        known: Option<Stored>,
    ) -> io::Result<Result<Stored, WorkspaceError>> {
        let mut file = self.anchor.open(path)?;
        let print = Fingerprint::of(&file.metadata()?);
        let settled = print.settled_at(SystemTime::now());
        if print.size > WHOLE {
            return Ok(self.add_stream(path, print, settled, file));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(print.size).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        Ok(self.add_bytes(path, print, settled, &bytes, known))
    }

    fn add_bytes(
        &mut self,
        path: &Path,
        print: Fingerprint,
        settled: bool,
        bytes: &[u8],
        known: Option<Stored>,
    ) -> Result<Stored, WorkspaceError> {
        let blob = BlobId::of(bytes);
        let kind = kind(&print);
        if known.is_none_or(|known| known.blob != blob || self::kind(&known.print) != kind) {
            self.import.add(&stored_path(path), kind, bytes)?;
        }
        Ok(Stored {
            print,
            blob,
            settled,
        })
    }

    fn add_stream(
        &mut self,
        path: &Path,
        print: Fingerprint,
        settled: bool,
        file: File,
    ) -> Result<Stored, WorkspaceError> {
        let mut bytes = Hashing {
            source: file,
            hasher: BlobHasher::new(print.size),
        };
        if self
            .import
            .add_from(&stored_path(path), kind(&print), print.size, &mut bytes)?
        {
            Ok(Stored {
                print,
                blob: bytes.hasher.finish(),
                settled,
            })
        } else {
            Err(WorkspaceError::ChangedWhileRead {
                path: path.to_owned(),
            })
        }
    }
}

/// Hashes what goes through.
struct Hashing {
    source: File,
    hasher: BlobHasher,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

fn stored_path(path: &Path) -> PathBuf {
    Path::new(FILES).join(path)
}

/// What git is to call a file.
pub(super) fn kind(print: &Fingerprint) -> Kind {
    if print.is_link() {
        Kind::Link
    } else if is_executable(print.permissions()) {
        Kind::Executable
    } else {
        Kind::Plain
    }
}
