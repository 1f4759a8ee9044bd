//! The files of a session in the state directory: `gate/HASH/`, one folder for each session in each directory.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use selvedge_core::format::hex;
use selvedge_core::model::{Baseline, TreeId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::protocol::HookAgent;
use super::session::GateSession;
use crate::output::file;

/// Sessions not used for this long are forgotten.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// The baseline of a tree; `None` if it could not be taken.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredBaseline {
    pub(super) tree: TreeId,
    pub(super) baseline: Option<Baseline>,
}

/// The folder of a session. Only one call of the hook holds it at a time.
#[derive(Debug)]
pub(super) struct SessionFolder {
    path: PathBuf,
    _lock: File,
}

impl SessionFolder {
    /// Opens the folder of a session, and waits for other calls in the same session. The session's id may be any text.
    pub(super) fn open(
        state: &Path,
        agent: HookAgent,
        session: &str,
        dir: &Path,
    ) -> io::Result<Self> {
        let all = state.join("gate");
        let mut hash = Sha256::new();
        for part in [
            agent.name().as_bytes(),
            session.as_bytes(),
            dir.as_os_str().as_encoded_bytes(),
        ] {
            hash.update(part);
            hash.update([0]);
        }
        let path = all.join(hex(&hash.finalize()));
        create_private_dir(&path)?;
        remove_expired(&all);
        let lock = lock(&path.join("lock"))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the session; `None` if it is new, or if another release wrote it.
    pub(super) fn load(&self) -> Option<GateSession> {
        let text = fs::read(self.path.join("session.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn save(&self, session: &GateSession) -> io::Result<()> {
        let text = serde_json::to_vec(session)?;
        file::replace(&self.path.join("session.json"), &text)
    }

    /// Removes the session's files. What is left is removed when it has expired.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Waits until no other process takes the baseline of the session in this folder.
pub(super) fn lock_baseline(folder: &Path) -> io::Result<File> {
    lock(&folder.join("baseline.lock"))
}

pub(super) fn load_baseline(folder: &Path, tree: &TreeId) -> Option<StoredBaseline> {
    let text = fs::read(folder.join("baseline.json")).ok()?;
    let stored: StoredBaseline = serde_json::from_slice(&text).ok()?;
    (stored.tree == *tree).then_some(stored)
}

pub(super) fn save_baseline(folder: &Path, stored: &StoredBaseline) -> io::Result<()> {
    file::replace(&folder.join("baseline.json"), &serde_json::to_vec(stored)?)
}

/// The lock of a directory: the checks of two sessions in it take turns.
pub(super) fn lock_directory(state: &Path, dir: &Path) -> io::Result<File> {
    let all = state.join("gate");
    create_private_dir(&all)?;
    let name = hex(&Sha256::digest(dir.as_os_str().as_encoded_bytes()));
    lock(&all.join(format!("{name}.lock")))
}

fn lock(path: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.lock()?;
    Ok(file)
}

fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_expired(all: &Path) {
    let is_old = |path: &Path| {
        let changed = fs::metadata(path.join("session.json"))
            .or_else(|_| fs::metadata(path))
            .and_then(|metadata| metadata.modified());
        changed.is_ok_and(|at| SystemTime::now().duration_since(at).unwrap_or_default() > RETENTION)
    };
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    for path in entries
        .map(|entry| entry.path())
        .filter(|path| is_old(path))
    {
        let _ = fs::remove_dir_all(&path);
    }
}
