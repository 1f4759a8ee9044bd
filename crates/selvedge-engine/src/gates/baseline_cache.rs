//! Cache of baseline results across runs: one file per tree and check, in the state directory. Checks with missing or
//! unreadable entries are run again.
//!
//! The name of a file is a hash of everything that the result may depend on: the tree, the check, this program's
//! version, the check's program on disk, the installed tools of the workspace, and the environment except for variables
//! that differ from terminal to terminal.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use selvedge_core::model::{CheckReport, Step, TreeId};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::checks::first_program;
use crate::environment::EnvironmentMap;
use crate::process::find_program;

/// Results that were not used for this long are removed.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Version of how evidence is collected: other versions name tests differently.
const EVIDENCE_VERSION: &[u8] = b"machine reports 2";

/// Prefixes of variables that belong to a terminal or a session and have no effect on a check.
const IGNORED_VARIABLE_PREFIXES: [&str; 16] = [
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "SSH_",
    "XDG_SESSION_",
    "TMUX",
    "STY",
    "WINDOWID",
    "DISPLAY",
    "INVOCATION_ID",
    "SELVEDGE_",
];

/// The cache.
#[derive(Debug, Clone)]
pub(crate) struct BaselineCache {
    folder: PathBuf,
    /// Identifies the tools that are installed in the workspace.
    installed: String,
    /// The part of our environment that checks see.
    environment: EnvironmentMap,
}

impl BaselineCache {
    pub(crate) fn new(folder: PathBuf, installed: String, environment: EnvironmentMap) -> Self {
        Self {
            folder,
            installed,
            environment,
        }
    }

    /// The cached result of a check on a tree.
    pub(super) fn get(&self, tree: &TreeId, step: &Step) -> Option<CheckReport> {
        let bytes = fs::read(self.entry_path(tree, step, &step.target)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores a result; errors are ignored, because they only make the next run slower.
    pub(super) fn put(&self, tree: &TreeId, step: &Step, check: &CheckReport) {
        let Some(file) = self.entry_path(tree, step, &step.target) else {
            return;
        };
        let remembered = CheckReport {
            // The output belongs to another run, and may be deleted with it.
            output_ref: None,
            ..check.clone()
        };
        let _ = self.write(&file, &remembered);
        self.remove_expired();
    }

    /// The cached list of test and tool files that a run of the checks wrote.
    pub(super) fn get_written(&self, tree: &TreeId, steps: &[Step]) -> Option<Vec<String>> {
        let bytes = fs::read(self.entry_path(tree, &("written", steps), "")?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores this list.
    pub(super) fn put_written(&self, tree: &TreeId, steps: &[Step], written: &[String]) {
        if let Some(file) = self.entry_path(tree, &("written", steps), "") {
            // Errors only make the next run slower.
            let _ = self.write(&file, &written);
        }
    }

    fn write(&self, file: &Path, remembered: &impl Serialize) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut draft = tempfile::NamedTempFile::new_in(&self.folder)?;
        draft.write_all(&serde_json::to_vec(remembered)?)?;
        draft.persist(file)?;
        Ok(())
    }

    fn remove_expired(&self) {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for file in files {
            let age = file.metadata().and_then(|data| data.modified()).ok();
            let age = age.and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_some_and(|age| age > RETENTION) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// `None` if it is not known what the result depends on.
    fn entry_path(&self, tree: &TreeId, request: &impl Serialize, line: &str) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        part(env!("CARGO_PKG_VERSION").as_bytes());
        part(EVIDENCE_VERSION);
        part(tree.as_str().as_bytes());
        part(&serde_json::to_vec(request).ok()?);
        part(program_fingerprint(line).as_bytes());
        part(self.installed.as_bytes());
        let lasting = self.environment.iter().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !IGNORED_VARIABLE_PREFIXES
                .iter()
                .any(|passing| name.starts_with(passing))
        });
        for (name, value) in lasting {
            part(name.as_bytes());
            part(value.as_bytes());
        }
        let mut name = String::new();
        for byte in hash.finalize() {
            let _ = write!(name, "{byte:02x}");
        }
        Some(self.folder.join(name + ".json"))
    }
}

/// Fingerprint of the check's program on disk: it changes with an upgrade.
fn program_fingerprint(line: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = first_program(line).and_then(|name| find_program(name, &path, Path::new("/")));
    let data = found.as_ref().and_then(|path| fs::metadata(path).ok());
    match (found, data) {
        (Some(path), Some(data)) => format!("{} {} {}", path.display(), data.len(), data.mtime()),
        _ => String::new(),
    }
}
