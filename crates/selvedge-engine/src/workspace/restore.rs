//! Making the workspace equal to a snapshot. The bytes it holds now are stored and kept first, so a
//! restore can always be undone; what no snapshot covers is left alone; no link is ever followed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::anchored::Anchor;
use super::blobs::Blobs;
use super::error::WorkspaceError;
use super::fingerprint::Fingerprint;
use super::ids::TreeId;
use super::import::Kind;
use super::inventory::Stored;
use super::obstacles::{must_go_first, refuse_if_blocked};
use super::relative::Relative;
use super::shadow::{Held, Shadow};
use super::snapshot::Taken;
use super::store::kind;
use super::survey::Survey;
use super::target::{Target, Wanted};

/// The owner's bits that working in a folder takes.
const OWNER_WORKS: u32 = 0o700;

/// What a restore did.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Files and links that were written or had their mode set, relative to the workspace.
    pub changed: Vec<PathBuf>,
    /// Files and links that were removed.
    pub removed: Vec<PathBuf>,
    /// A snapshot of what the workspace held before, kept until [`Workspace::forget_replaced`].
    pub kept_back: TreeId,
}

impl Workspace {
    /// Makes the workspace equal to the snapshot: everything it covers is put back, and files that
    /// snapshots cover and this one does not hold are removed. Caches, nested repositories' records
    /// and whatever else snapshots leave out stay as they are.
    ///
    /// # Errors
    /// The snapshot is unknown; something uncovered is in the way (nothing was changed then); or the
    /// file system refuses, in which case doing it again continues.
    pub fn restore(&self, tree: &TreeId) -> Result<Restored, WorkspaceError> {
        let held = self.shadow.hold()?;
        let mut blobs = Blobs::open(&self.git, &self.shadow)?;
        let target = self.target(tree, &mut blobs)?;
        // Whatever is overwritten must be kept back, even what the rules would leave out.
        let always: HashSet<Relative> = target.files.keys().cloned().collect();
        let current = self.take(&held, "before a restore", &always)?;
        self.keep_back(&held, &current.tree)?;
        refuse_if_blocked(&self.dir, &current, &target)?;

        let anchor = Anchor::at(&self.dir).map_err(|e| self.failed(Path::new(""), e))?;
        let mut restore = Restore {
            workspace: self,
            anchor,
            blobs,
            target,
            current,
            changed: Vec::new(),
            removed: Vec::new(),
        };
        restore.open_folders()?;
        restore.clear_the_way()?;
        restore.make_folders()?;
        restore.write_files()?;
        restore.remove_the_rest(&held)?;
        restore.close_folders()?;
        let Restore {
            changed,
            removed,
            current,
            ..
        } = restore;
        Ok(Restored {
            changed,
            removed,
            kept_back: current.tree,
        })
    }

    /// Makes the workspace equal to the snapshot if it is not; says whether it was not. Cheap where
    /// nothing changed.
    ///
    /// # Errors
    /// Those of [`Workspace::snapshot`] and [`Workspace::restore`].
    pub fn settle(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let now = self.snapshot("before settling")?;
        if now.tree == *tree {
            return Ok(false);
        }
        self.restore(tree)?;
        Ok(true)
    }

    fn keep_back(&self, held: &Held, tree: &TreeId) -> Result<(), WorkspaceError> {
        self.shadow
            .set_ref(&self.git, held, &Shadow::replaced_ref(tree), tree)
    }

    fn failed(&self, path: &Path, error: io::Error) -> WorkspaceError {
        WorkspaceError::io("restore", &self.dir.join(path), error)
    }
}

/// A restore under way; its steps come in the order of the methods.
struct Restore<'a> {
    workspace: &'a Workspace,
    anchor: Anchor,
    blobs: Blobs,
    target: Target,
    current: Taken,
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

impl Restore<'_> {
    /// Lets the owner work in folders that are read-only.
    fn open_folders(&self) -> Result<(), WorkspaceError> {
        for (path, bits) in self
            .current
            .folders
            .iter()
            .filter(|(_, bits)| is_closed(**bits))
        {
            self.done(path, self.anchor.set_permissions(path, bits | OWNER_WORKS))?;
        }
        Ok(())
    }

    fn clear_the_way(&mut self) -> Result<(), WorkspaceError> {
        for path in self
            .current
            .files
            .keys()
            .filter(|path| must_go_first(path, &self.target))
        {
            self.done(path, self.anchor.remove(path))?;
            self.removed.push(path.to_path_buf());
        }
        for path in self.current.folders.keys().rev() {
            let file_comes = path
                .ancestors()
                .any(|above| self.target.files.contains_key(above.as_os_str()));
            if file_comes {
                self.done(path, self.anchor.remove_empty(path).map(drop))?;
            }
        }
        Ok(())
    }

    fn make_folders(&self) -> Result<(), WorkspaceError> {
        let missing = self
            .target
            .folders
            .keys()
            .filter(|path| !self.current.folders.contains_key(*path));
        for path in missing {
            self.done(path, self.anchor.make_folder(path))?;
        }
        Ok(())
    }

    fn write_files(&mut self) -> Result<(), WorkspaceError> {
        for (path, wanted) in &self.target.files {
            let there = self.current.files.get(path);
            if there.is_some_and(|there| has_bytes(there, wanted)) {
                if there.is_some_and(|there| has_permissions(there, wanted)) {
                    continue;
                }
                self.done(path, self.anchor.set_permissions(path, wanted.permissions))?;
            } else {
                let written = write(&self.anchor, &mut self.blobs, path, wanted);
                self.done(path, written)?;
            }
            self.changed.push(path.to_path_buf());
        }
        Ok(())
    }

    /// Removes what the snapshot would have covered and does not hold. The rules that count are those
    /// of the snapshot: what it left out because it was ignored must stay, even if it was not ignored
    /// a moment ago. So ignore files that it does not hold go first, for as long as there are any;
    /// then the rules in force are its own.
    fn remove_the_rest(&mut self, held: &Held) -> Result<(), WorkspaceError> {
        if self.is_done() {
            return Ok(());
        }
        loop {
            let mut extra = self
                .workspace
                .survey(self.target.manifest.rules, &HashSet::new())?;
            extra
                .files
                .retain(|path, _| !self.target.files.contains_key(path));
            extra
                .folders
                .retain(|path, _| !self.target.folders.contains_key(path));
            extra.empty.retain(|path| extra.folders.contains_key(path));
            self.keep_back_more(held, &extra)?;
            let (rules, others): (BTreeMap<_, _>, _) = extra
                .files
                .into_iter()
                .partition(|(path, _)| path.ends_with(".gitignore"));
            if self.remove_files(rules)? == 0 {
                self.remove_files(others)?;
                return self.remove_folders(extra.folders.keys());
            }
        }
    }

    /// Keeps back what is to be removed and was hidden by rules that are no longer in force.
    fn keep_back_more(&mut self, held: &Held, extra: &Survey) -> Result<(), WorkspaceError> {
        let Taken { files, folders, .. } = &self.current;
        let mut more = extra.clone();
        more.files.retain(|path, _| !files.contains_key(path));
        more.folders.retain(|path, _| !folders.contains_key(path));
        more.empty.retain(|path| more.folders.contains_key(path));
        if more.files.is_empty() && more.empty.is_empty() {
            return Ok(());
        }
        self.current = self.workspace.take_more(held, self.current.clone(), more)?;
        self.workspace.keep_back(held, &self.current.tree)
    }

    /// Removes files that were kept back, and says how many.
    fn remove_files(
        &mut self,
        files: BTreeMap<Relative, Fingerprint>,
    ) -> Result<usize, WorkspaceError> {
        let before = self.removed.len();
        for (path, print) in files {
            // Invariant: nothing is removed but what was kept back, byte for byte.
            if self
                .current
                .files
                .get(&path)
                .is_some_and(|kept| kept.print.same_bytes_as(&print))
            {
                self.done(&path, self.anchor.remove(&path))?;
                self.removed.push(path.into_path());
            }
        }
        Ok(self.removed.len() - before)
    }

    /// Removes folders that the snapshot does not hold, once they are empty.
    fn remove_folders<'p>(
        &self,
        folders: impl DoubleEndedIterator<Item = &'p Relative>,
    ) -> Result<(), WorkspaceError> {
        for path in folders.rev() {
            self.done(path, self.anchor.remove_empty(path).map(drop))?;
        }
        Ok(())
    }

    /// Whether there is nothing in the workspace that the snapshot may not have.
    fn is_done(&self) -> bool {
        let Taken {
            files,
            empty,
            left_out,
            ..
        } = &self.current;
        left_out.is_empty()
            && files
                .keys()
                .all(|path| self.target.files.contains_key(path))
            && empty
                .iter()
                .all(|path| self.target.folders.contains_key(path))
    }

    /// Gives every folder the bits it is to have, the innermost first.
    fn close_folders(&self) -> Result<(), WorkspaceError> {
        let Target { files, folders, .. } = &self.target;
        for (path, bits) in folders.iter().rev() {
            let is_right = |was: &u32| was == bits && !is_closed(*was);
            if !self.current.folders.get(path).is_some_and(is_right) {
                self.done(path, self.anchor.set_permissions(path, *bits))?;
            }
        }
        for (path, bits) in self
            .current
            .folders
            .iter()
            .rev()
            .filter(|(_, bits)| is_closed(**bits))
        {
            if !folders.contains_key(path) && !files.contains_key(path) {
                // It stays if something uncovered is in it; mostly it is gone.
                let _ = self.anchor.set_permissions(path, *bits);
            }
        }
        Ok(())
    }

    fn done(&self, path: &Path, result: io::Result<()>) -> Result<(), WorkspaceError> {
        result.map_err(|e| self.workspace.failed(path, e))
    }
}

fn is_closed(bits: u32) -> bool {
    bits & OWNER_WORKS != OWNER_WORKS
}

fn has_bytes(there: &Stored, wanted: &Wanted) -> bool {
    let is_link = |kind| kind == Kind::Link;
    there.blob == wanted.blob && is_link(kind(&there.print)) == is_link(wanted.kind)
}

fn has_permissions(there: &Stored, wanted: &Wanted) -> bool {
    wanted.kind == Kind::Link || there.print.permissions() == wanted.permissions
}

pub(super) fn write(
    anchor: &Anchor,
    blobs: &mut Blobs,
    path: &Path,
    wanted: &Wanted,
) -> io::Result<()> {
    let blob = wanted.blob.to_string();
    if wanted.kind == Kind::Link {
        let mut target = Vec::new();
        blobs.copy(&blob, &mut target)?;
        anchor.link(path, Path::new(&OsString::from_vec(target)))
    } else {
        anchor.write(path, wanted.permissions, |file| blobs.copy(&blob, file))
    }
}
