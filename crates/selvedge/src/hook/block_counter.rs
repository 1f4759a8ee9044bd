//! How often a session was held back, in a file of its own below the state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use selvedge_core::format::hex;

use crate::output::file;

/// Sessions that nobody heard of for so long are forgotten.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// What is remembered of one session.
#[derive(Debug)]
pub(crate) struct BlockCounter {
    file: PathBuf,
}

impl BlockCounter {
    /// Of a session, by a name that may be any text.
    pub(crate) fn for_session(state: &Path, session: &str) -> Self {
        let name = hex(&Sha256::digest(session.as_bytes()));
        Self {
            file: state.join("hooks").join(name),
        }
    }

    /// How often it was held back. What cannot be read counts as never: [`BlockCounter::store`] then says
    /// whether anything can be counted at all.
    pub(crate) fn count(&self) -> u32 {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// Remembers the number, and forgets sessions of long ago.
    pub(crate) fn store(&self, blocks: u32) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
            remove_expired(folder);
        }
        file::replace(&self.file, blocks.to_string().as_bytes())
    }

    /// Begins anew.
    pub(crate) fn reset(&self) {
        // One that is not there is as clear as can be; one that cannot be removed only gives up earlier.
        let _ = fs::remove_file(&self.file);
    }
}

fn remove_expired(folder: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|found| found.modified());
        let age = changed.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.is_ok_and(|age| age > RETENTION)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_old) {
        let _ = fs::remove_file(entry.path());
    }
}
