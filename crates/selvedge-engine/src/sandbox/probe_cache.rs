//! Cache of probe results: valid until the machine reboots or a participating program changes. A probe takes longer
//! than the start of a run may.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use selvedge_core::model::{SandboxBackend, SandboxReport};
use serde::{Deserialize, Serialize};

use super::probe::ProbeError;
use super::{find_bubblewrap, find_in_system};

const CACHE_FILE: &str = "sandbox.json";

#[derive(Debug)]
pub(super) struct ProbeCache {
    path: PathBuf,
    file: ProbeCacheFile,
    is_changed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ProbeCacheFile {
    /// Identifies the programs and the boot that were probed.
    key: String,
    found: BTreeMap<String, CachedResult>,
}

/// The result of a probe, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum CachedResult {
    Works(SandboxReport),
    /// Contains the error's message.
    Fails(String),
}

impl ProbeCache {
    /// Loads the valid results below a folder.
    pub(super) fn load(state: &Path) -> Self {
        let path = state.join(CACHE_FILE);
        let read = fs::read(&path).ok();
        let kept: Option<ProbeCacheFile> =
            read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let key = cache_key();
        let kept = kept
            .filter(|kept| kept.key == key)
            .unwrap_or(ProbeCacheFile {
                key,
                found: BTreeMap::new(),
            });
        Self {
            path,
            file: kept,
            is_changed: false,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Result<SandboxReport, ProbeError>> {
        Some(match self.file.found.get(name)?.clone() {
            CachedResult::Works(report) => Ok(report),
            CachedResult::Fails(message) => Err(ProbeError::Remembered(message)),
        })
    }

    pub(super) fn put(&mut self, name: String, result: &Result<SandboxReport, ProbeError>) {
        let cached = match result {
            Ok(report) => CachedResult::Works(report.clone()),
            Err(error) => CachedResult::Fails(error.to_string()),
        };
        self.file.found.insert(name, cached);
        self.is_changed = true;
    }

    /// Saves the results; if that fails, the next run probes again.
    pub(super) fn save(&self) {
        if !self.is_changed {
            return;
        }
        let Some(folder) = self.path.parent() else {
            return;
        };
        let _ = fs::create_dir_all(folder);
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
            serde_json::to_writer(&file, &self.file)?;
            file.persist(&self.path).map_err(std::io::Error::from)
        });
        drop(written);
    }
}

/// Key that changes with everything that the results depend on.
fn cache_key() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let user = rustix::process::geteuid().as_raw();
    let own = std::env::current_exe().ok();
    let builders = SandboxBackend::BUILDERS.iter();
    let builders = builders.filter(|backend| backend.is_container());
    let builders = builders.map(|backend| find_in_system(backend.name()));
    let files = [own, find_bubblewrap()].into_iter().chain(builders);
    let files: Vec<_> = files
        .map(|path| {
            let path = path?;
            let found = fs::metadata(&path).ok()?;
            Some((
                path,
                found.ino(),
                found.mtime(),
                found.mtime_nsec(),
                found.len(),
            ))
        })
        .collect();
    format!("{} {user} {files:?}", boot.trim())
}
