//! Counts how often a session was blocked, in a file per session in the state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use selvedge_core::format::hex;

use crate::output::file;

/// Counters not changed for this long are removed.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// The counter of one session.
#[derive(Debug)]
pub(crate) struct BlockCounter {
    file: PathBuf,
}

impl BlockCounter {
    /// Opens the counter of a session. The session's name may be any text.
    pub(crate) fn for_session(state: &Path, session: &str) -> Self {
        let name = hex(&Sha256::digest(session.as_bytes()));
        Self {
            file: state.join("hooks").join(name),
        }
    }

    /// How often the session was blocked. Returns 0 if the file cannot be read; [`BlockCounter::store`] then fails if
    /// nothing can be counted.
    pub(crate) fn count(&self) -> u32 {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// Stores the count, and removes expired counters.
    pub(crate) fn store(&self, blocks: u32) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
            remove_expired(folder);
        }
        file::replace(&self.file, blocks.to_string().as_bytes())
    }

    pub(crate) fn reset(&self) {
        // A missing file is fine. If the file cannot be removed, the hook gives up earlier.
        let _ = fs::remove_file(&self.file);
    }
}

fn remove_expired(folder: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.is_ok_and(|age| age > RETENTION)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_old) {
        let _ = fs::remove_file(entry.path());
    }
}
