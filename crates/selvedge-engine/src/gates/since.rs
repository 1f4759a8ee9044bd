//! What stood at a revision, to hold work against that no run watched: which files decide how the
//! checks run, and what the checks said then. The person's folder is read and never written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::WalkBuilder;
use selvedge_core::guard::{Action, Finding, Protection, Strength};
use selvedge_core::model::{Baseline, Step, TreeId};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::baseline::BaselineRun;
use super::guard::{Looked, NOT_OWN};
use super::look::Place;
use super::remembered::Remembered;
use super::trees::Trees;
use crate::activity::Progress;
use crate::agents::env::{for_checks, ours};
use crate::checks::CheckAborted;
use crate::process::Supervisor;
use crate::workspace::{Anchor, Compared, Content, Workspace, WorkspaceError, check_out};

/// Folders of what was installed for the checks, which are in no revision.
const INSTALLED: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "deps"];

/// A revision, laid out in a folder that goes with it.
#[derive(Debug)]
pub struct Since {
    folder: TempDir,
    /// The workspace.
    now: PathBuf,
    /// What stands for it in the revision.
    then: PathBuf,
}

impl Since {
    /// Lays out what `workspace` (canonical) was at a revision. Blocks.
    ///
    /// # Errors
    /// Those of [`check_out`].
    pub fn of(workspace: &Path, revision: &str) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::io("make room for a revision", workspace, error);
        let folder = TempDir::with_prefix("selvedge-since-").map_err(failed)?;
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).map_err(failed)?;
        let then = check_out(workspace, revision, &tree)?;
        fs::create_dir_all(&then).map_err(failed)?;
        Ok(Self {
            folder,
            now: workspace.to_owned(),
            then,
        })
    }

    /// The workspace as it was.
    pub fn dir(&self) -> &Path {
        &self.then
    }

    /// What was changed since then that decides how the checks run, or that a person has to see.
    /// Nothing is put back: what weakens the checks fails the work instead. Of files that are ignored
    /// only protected ones are looked at. Blocks.
    ///
    /// # Errors
    /// One of the folders cannot be read.
    pub fn findings(&self, protection: &Protection) -> io::Result<Vec<Finding>> {
        let (then, now) = (Anchor::at(&self.then)?, Anchor::at(&self.now)?);
        let mut paths = files(&self.then, false);
        paths.extend(files(&self.now, true));
        let protected = |path: &PathBuf| protection.protects(&path.to_string_lossy());
        paths.extend(files(&self.now, false).into_iter().filter(protected));
        let wanted = paths
            .into_iter()
            .filter(|path| protection.wants(&path.to_string_lossy()));
        let compared = wanted.map(|path| Compared {
            before: content(&then, &self.then, &path),
            after: content(&now, &self.now, &path),
            path,
        });
        let looked: Looked = compared.filter(|file| file.before != file.after).collect();
        let mut findings = looked.findings(protection);
        for finding in &mut findings {
            if finding.strength == Strength::Offence {
                finding.action = Action::Fail;
            }
        }
        Ok(findings)
    }

    /// The workspace then and now as snapshots, for a look at what was changed. They are kept beside the
    /// revision and go with it. Blocks.
    ///
    /// # Errors
    /// One of the folders cannot be read, or the disk is full.
    pub fn trees(&self) -> Result<Trees, WorkspaceError> {
        let open = |dir: &Path, name: &str| Workspace::open(dir, &self.folder.path().join(name));
        let (then, now) = (open(&self.then, "then")?, open(&self.now, "now")?);
        let start = then.snapshot("then")?.tree;
        let judged = now.snapshot("now")?.tree;
        now.adopt(&then, &start)?;
        Ok(Trees {
            workspace: now,
            judged: TreeId::new(judged.as_str()),
            start: TreeId::new(start.as_str()),
        })
    }

    /// Runs the checks on it, with what was installed beside the workspace's files.
    ///
    /// # Errors
    /// Those of a verification run.
    pub async fn baseline(
        &self,
        steps: &[Step],
        limit: Duration,
        supervisor: &Supervisor,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckAborted> {
        let outputs = self.folder.path().join("outputs");
        fs::create_dir_all(&outputs)
            .and_then(|()| self.borrow_what_is_installed())
            .map_err(|error| CheckAborted::Infrastructure(error.to_string()))?;
        let run = BaselineRun {
            place: Place {
                workspace: self.then.clone(),
                run_dir: outputs.clone(),
                tag: self.tag(),
                outputs: "baseline".to_owned(),
                last_green: Vec::new(),
                lock: outputs.join("processes.lock"),
                supervisor: supervisor.clone(),
                is_baseline: false,
            },
            steps,
            limit,
            start: None,
            remembered: Remembered::at(outputs, for_checks(supervisor.shown(), &ours())),
        };
        let mut baseline = run.take(progress, cancel).await?;
        let failures = baseline.checks.iter_mut().flat_map(|it| &mut it.failures);
        for file in failures.filter_map(|failure| failure.file.as_mut()) {
            // As the same failure in the workspace would be told.
            if let Ok(path) = Path::new(file).strip_prefix(&self.then) {
                *file = self.now.join(path).display().to_string();
            }
        }
        Ok(baseline)
    }

    /// The folder's name is nobody else's.
    fn tag(&self) -> String {
        let name = self.folder.path().file_name().unwrap_or_default();
        format!("{}.baseline", name.to_string_lossy())
    }

    fn borrow_what_is_installed(&self) -> io::Result<()> {
        let mut folders: BTreeSet<PathBuf> = files(&self.then, false)
            .iter()
            .flat_map(|file| file.ancestors().skip(1).map(Path::to_owned))
            .collect();
        folders.insert(PathBuf::new());
        for folder in folders {
            for name in INSTALLED {
                let (there, here) = (self.now.join(&folder), self.then.join(&folder));
                let missing = here.join(name).symlink_metadata().is_err();
                if missing && there.join(name).is_dir() {
                    symlink(there.join(name), here.join(name))?;
                }
            }
        }
        Ok(())
    }
}

/// The files below a folder, none of them through a link; what git ignores is left out on request.
fn files(root: &Path, unignored: bool) -> BTreeSet<PathBuf> {
    let own = |name: &OsStr| !NOT_OWN.iter().any(|other| name == OsStr::new(other));
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(unignored)
        .git_exclude(unignored)
        .git_global(unignored)
        .parents(unignored)
        .filter_entry(move |entry| entry.depth() == 0 || own(entry.file_name()))
        .build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    files
        .filter_map(|entry| entry.path().strip_prefix(root).ok().map(Path::to_owned))
        .collect()
}

fn content(anchor: &Anchor, root: &Path, path: &Path) -> Content {
    let is_link = root
        .join(path)
        .symlink_metadata()
        .is_ok_and(|data| data.is_symlink());
    if is_link {
        return Content::Link;
    }
    let mut bytes = Vec::new();
    let read = anchor
        .open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes));
    match read {
        Ok(_) => Content::Bytes(bytes),
        Err(_) => Content::Absent,
    }
}
