//! What stood at a revision, to hold work against that no run watched: which files decide how the
//! checks run, and what the checks said then. The person's folder is read and never written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::WalkBuilder;
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::guard::{Action, Finding, Protection, Strength};
use selvedge_core::model::{
    Baseline, CheckReport, CrossedReport, KnownFailures, SetupSpec, Step, TreeId,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::baseline::BaselineRun;
use super::crossing::{CrossedTrees, Crossing};
use super::guard::{ComparedFiles, NOT_OWN, diagnostics};
use super::look::Place;
use super::remembered::Remembered;
use super::trees::{Trees, stored};
use crate::activity::Progress;
use crate::agents::env::{for_checks, ours};
use crate::checks::CheckAborted;
use crate::process::Supervisor;
use crate::workspace::{Workspace, WorkspaceError, check_out};

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

    /// What was changed since then that a person has to see. Nothing is reverted: a protected file that changed fails
    /// the work instead. Blocks.
    ///
    /// # Errors
    /// A snapshot cannot be read.
    pub fn findings(
        &self,
        trees: &Trees,
        protection: &Protection,
        baseline: &Baseline,
    ) -> Result<Vec<Finding>, WorkspaceError> {
        let (start, judged) = (stored(&trees.start)?, stored(&trees.judged)?);
        let files = ComparedFiles::between(&trees.workspace, &start, &judged, protection)?;
        let checks: Vec<_> = baseline.checks.iter().cloned().map(Some).collect();
        let mut findings = files.findings(protection, &diagnostics(&checks));
        for finding in &mut findings {
            if finding.strength == Strength::Offence {
                finding.action = Action::Fail;
            }
        }
        Ok(findings)
    }

    /// Runs the checks with the tests of the revision, where anything on the test side was changed; `delivered` is
    /// their report with those of now, which passed.
    ///
    /// # Errors
    /// Those of a verification run.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of one verification"
    )]
    pub async fn cross(
        &self,
        trees: &Trees,
        steps: &[Step],
        expect_test_changes: &[String],
        limit: Duration,
        baseline: &Baseline,
        known_failures: &KnownFailures,
        delivered: &[CheckReport],
        supervisor: &Supervisor,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Option<CrossedReport>, CheckAborted> {
        let room = self.room(trees).map_err(infrastructure)?;
        let outputs = self.outputs().map_err(infrastructure)?;
        let baseline: Vec<Option<CheckReport>> =
            baseline.checks.iter().cloned().map(Some).collect();
        let mut crossing = Crossing {
            trees: CrossedTrees {
                trees: &room,
                test_base: None,
                allow: &[],
                expected: expect_test_changes,
            },
            place: &self.place(outputs, supervisor),
            steps,
            baseline: &baseline,
            known_failures,
            limit,
            rerun_failed: true,
            expected: ExpectedChanges::new(expect_test_changes),
            // All of it was compiled here, from the revision's files.
            began: i64::MIN,
            progress,
            cancel,
            written: BTreeSet::new(),
        };
        let mut crossed = crossing.run(delivered).await?;
        let checks = crossed.iter_mut().flat_map(|crossed| &mut crossed.checks);
        for check in checks {
            self.rename_files(check);
            // The outputs go with the folder.
            check.output_ref = None;
        }
        Ok(crossed)
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
        Ok(Trees::in_place(
            now,
            TreeId::new(judged.as_str()),
            TreeId::new(start.as_str()),
        ))
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
        self.borrow_what_is_installed().map_err(infrastructure)?;
        let outputs = self.outputs().map_err(infrastructure)?;
        let run = BaselineRun {
            place: self.place(outputs.clone(), supervisor),
            steps,
            limit,
            start: None,
            remembered: Remembered::at(outputs, for_checks(supervisor.shown(), &ours())),
        };
        let mut baseline = run.take(progress, cancel).await?;
        baseline
            .checks
            .iter_mut()
            .for_each(|check| self.rename_files(check));
        Ok(baseline)
    }

    /// The revision's folder as a workspace that has both trees. What is installed belongs to each of them, or the
    /// links to it would be removed when one of them is restored.
    fn room(&self, trees: &Trees) -> Result<Trees, WorkspaceError> {
        let workspace = Workspace::open(&self.then, &self.folder.path().join("then"))?;
        workspace.adopt(&trees.workspace, &stored(&trees.judged)?)?;
        let with_installed = |tree: &TreeId, name| {
            workspace.restore(&stored(tree)?)?;
            self.borrow_what_is_installed()
                .map_err(|error| WorkspaceError::io("prepare a revision", &self.then, error))?;
            let snapshot = workspace.snapshot_kept(name)?;
            Ok::<_, WorkspaceError>(TreeId::new(snapshot.tree.as_str()))
        };
        let start = with_installed(&trees.start, "start")?;
        let judged = with_installed(&trees.judged, "judged")?;
        Ok(Trees::in_place(workspace.clone(), judged, start))
    }

    /// Names files as the same failure in the workspace would.
    fn rename_files(&self, check: &mut CheckReport) {
        let files = check
            .failures
            .iter_mut()
            .filter_map(|failure| failure.file.as_mut());
        for file in files {
            if let Ok(path) = Path::new(file).strip_prefix(&self.then) {
                *file = self.now.join(path).display().to_string();
            }
        }
    }

    /// The folder for outputs.
    fn outputs(&self) -> io::Result<PathBuf> {
        let outputs = self.folder.path().join("outputs");
        fs::create_dir_all(&outputs)?;
        Ok(outputs)
    }

    fn place(&self, outputs: PathBuf, supervisor: &Supervisor) -> Place {
        Place {
            workspace: self.then.clone(),
            files: self.then.clone(),
            tag: self.tag(),
            outputs: "baseline".to_owned(),
            last_green: Vec::new(),
            lock: outputs.join("processes.lock"),
            run_dir: outputs,
            supervisor: supervisor.clone(),
            is_baseline: false,
            setup: SetupSpec::default(),
        }
    }

    /// The folder's name is nobody else's.
    fn tag(&self) -> String {
        let name = self.folder.path().file_name().unwrap_or_default();
        format!("{}.baseline", name.to_string_lossy())
    }

    /// Links what is installed beside the workspace's files.
    fn borrow_what_is_installed(&self) -> io::Result<()> {
        let mut folders: BTreeSet<PathBuf> = files(&self.then)
            .iter()
            .flat_map(|file| file.ancestors().skip(1).map(Path::to_owned))
            .collect();
        folders.insert(PathBuf::new());
        for path in folders
            .iter()
            .flat_map(|folder| INSTALLED.map(|name| folder.join(name)))
        {
            let (there, here) = (self.now.join(&path), self.then.join(&path));
            if here.symlink_metadata().is_err() && there.is_dir() {
                symlink(&there, &here)?;
            }
        }
        Ok(())
    }
}

fn infrastructure(error: impl std::fmt::Display) -> CheckAborted {
    CheckAborted::Infrastructure(error.to_string())
}

/// The files below a folder, none of them through a link.
fn files(root: &Path) -> BTreeSet<PathBuf> {
    let own = |name: &OsStr| !NOT_OWN.iter().any(|other| name == OsStr::new(other));
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| entry.depth() == 0 || own(entry.file_name()))
        .build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    files
        .filter_map(|entry| entry.path().strip_prefix(root).ok().map(Path::to_owned))
        .collect()
}
