//! The state of a workspace at a revision, for verifying existing changes: which files decide how the checks run, and
//! the results of the checks then. The user's folder is only read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ignore::WalkBuilder;
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::guard::Protection;
use selvedge_core::model::{
    Baseline, CheckReport, CrossedReport, Finding, FindingAction, FindingSeverity, KnownFailures,
    SetupSpec, Step, TreeId,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::baseline::BaselineRun;
use super::baseline_cache::BaselineCache;
use super::check_runner::VerificationContext;
use super::cross_verification::{CrossVerification, CrossedTrees};
use super::guard::{ComparedFiles, EXTERNAL_FOLDERS, known_diagnostics};
use super::trees::VerificationTrees;
use super::written_files::WrittenFiles;
use crate::activity::Progress;
use crate::agents::env::{check_env, host_env};
use crate::check_error::CheckError;
use crate::process::Supervisor;
use crate::workspace::{Workspace, WorkspaceError, check_out};

/// Folders of installed dependencies, which are in no revision.
const INSTALL_FOLDERS: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "deps"];

/// A revision, checked out to a temporary folder.
#[derive(Debug)]
pub struct BaseRevision {
    folder: TempDir,
    /// The workspace.
    workspace: PathBuf,
    /// The workspace's counterpart in the checked-out revision.
    revision_dir: PathBuf,
}

impl BaseRevision {
    /// Checks out the state of `workspace` (canonical) at a revision. Blocks.
    ///
    /// # Errors
    /// Those of [`check_out`].
    pub fn check_out(workspace: &Path, revision: &str) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::io("create a folder for a revision", workspace, error);
        let folder = TempDir::with_prefix("selvedge-since-").map_err(failed)?;
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).map_err(failed)?;
        let then = check_out(workspace, revision, &tree)?;
        fs::create_dir_all(&then).map_err(failed)?;
        Ok(Self {
            folder,
            workspace: workspace.to_owned(),
            revision_dir: then,
        })
    }

    /// Copies a snapshot of `snapshots`, which contains the folder `workspace` (canonical). The user's last commit, if
    /// there is one, is the revision that tools find in the copy. Blocks.
    ///
    /// # Errors
    /// The snapshot is missing, or the files cannot be written.
    pub fn of_snapshot(
        workspace: &Path,
        snapshots: &Workspace,
        tree: &TreeId,
    ) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::io("create a folder for a snapshot", workspace, error);
        let folder = TempDir::with_prefix("selvedge-since-").map_err(failed)?;
        let copy = folder.path().join("tree");
        fs::create_dir(&copy).map_err(failed)?;
        if snapshots.is_git() && check_out(snapshots.dir(), "HEAD", &copy).is_err() {
            // There is no commit yet.
            fs::remove_dir_all(&copy).map_err(failed)?;
            fs::create_dir(&copy).map_err(failed)?;
        }
        let restored = Workspace::open(&copy, &folder.path().join("restored"))?;
        restored.import_snapshot(snapshots, tree)?;
        restored.restore(tree)?;
        let below = workspace
            .strip_prefix(snapshots.dir())
            .unwrap_or(Path::new(""));
        let revision_dir = copy.join(below);
        fs::create_dir_all(&revision_dir).map_err(failed)?;
        Ok(Self {
            folder,
            workspace: workspace.to_owned(),
            revision_dir,
        })
    }

    /// The workspace's files at the revision.
    pub fn dir(&self) -> &Path {
        &self.revision_dir
    }

    /// Changes since the revision that a person has to review. Nothing is reverted: a changed protected file fails the
    /// work instead. Blocks.
    ///
    /// # Errors
    /// A snapshot cannot be read.
    pub fn findings(
        &self,
        trees: &VerificationTrees,
        protection: &Protection,
        baseline: &Baseline,
    ) -> Result<Vec<Finding>, WorkspaceError> {
        let checks: Vec<_> = baseline.checks.iter().cloned().map(Some).collect();
        let diagnostics = known_diagnostics(&checks);
        let (workspace, start) = (&trees.workspace, &trees.start);
        let files =
            ComparedFiles::between(workspace, start, &trees.judged, protection, &diagnostics)?;
        let mut findings = files.findings(protection, &diagnostics);
        for finding in &mut findings {
            if finding.strength == FindingSeverity::Violation {
                finding.action = FindingAction::Fail;
            }
        }
        Ok(findings)
    }

    /// Runs the checks with the tests of the revision, if anything on the test side has changed; `delivered` is their
    /// report with the present tests, which passed.
    ///
    /// # Errors
    /// Those of a verification.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of one verification"
    )]
    pub async fn run_cross_verification(
        &self,
        trees: &VerificationTrees,
        steps: &[Step],
        expect_test_changes: &[String],
        limit: Duration,
        baseline: &Baseline,
        known_failures: &KnownFailures,
        delivered: &[CheckReport],
        supervisor: &Supervisor,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Option<CrossedReport>, CheckError> {
        let room = self.revision_trees(trees).map_err(infrastructure_error)?;
        let outputs = self.create_outputs_folder().map_err(infrastructure_error)?;
        let baseline: Vec<Option<CheckReport>> =
            baseline.checks.iter().cloned().map(Some).collect();
        let mut crossing = CrossVerification {
            trees: CrossedTrees {
                trees: &room,
                test_base: None,
                allow: &[],
                expected: expect_test_changes,
            },
            context: &self.context(outputs, supervisor),
            steps,
            baseline: &baseline,
            known_failures,
            limit,
            rerun_failed: true,
            expected: ExpectedChanges::new(expect_test_changes),
            // All compiled code was built here, from the revision's files.
            started_at: i64::MIN,
            progress,
            cancel,
            installer: None,
            written: WrittenFiles::default(),
        };
        let steps = crossing.context.with_setup(crossing.steps);
        let originals = crossing.trees.find_originals(&steps).await?;
        let mut crossed = crossing.run(originals, delivered).await?;
        let checks = crossed.iter_mut().flat_map(|crossed| &mut crossed.checks);
        for check in checks {
            self.rename_files(check);
            // The outputs are deleted with the folder.
            check.output_ref = None;
        }
        Ok(crossed)
    }

    /// Snapshots of the workspace then and now, for inspecting the changes. They are stored next to the revision and
    /// deleted with it. Blocks.
    ///
    /// # Errors
    /// One of the folders cannot be read, or the disk is full.
    pub fn trees(&self) -> Result<VerificationTrees, WorkspaceError> {
        let open = |dir: &Path, name: &str| Workspace::open(dir, &self.folder.path().join(name));
        let (then, now) = (
            open(&self.revision_dir, "then")?,
            open(&self.workspace, "now")?,
        );
        let start = then.snapshot("then")?.tree;
        let judged = now.snapshot("now")?.tree;
        now.import_snapshot(&then, &start)?;
        Ok(VerificationTrees::in_place(now, judged, start))
    }

    /// Runs the checks on the revision, with the dependencies that are installed in the workspace.
    ///
    /// # Errors
    /// Those of a verification.
    pub async fn run_baseline(
        &self,
        steps: &[Step],
        limit: Duration,
        supervisor: &Supervisor,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckError> {
        self.link_installed_folders()
            .map_err(infrastructure_error)?;
        let outputs = self.create_outputs_folder().map_err(infrastructure_error)?;
        let run = BaselineRun {
            context: self.context(outputs.clone(), supervisor),
            room: None,
            steps,
            limit,
            start: None,
            cache: BaselineCache::new(
                outputs,
                String::new(),
                check_env(supervisor.env_allowlist(), &host_env()),
            ),
        };
        let mut baseline = run.run_or_reuse(progress, cancel).await?;
        baseline
            .checks
            .iter_mut()
            .for_each(|check| self.rename_files(check));
        Ok(baseline)
    }

    /// The revision's folder as a workspace that has both trees. Installed dependencies are part of both trees,
    /// because otherwise a restore would remove the links to them.
    fn revision_trees(
        &self,
        trees: &VerificationTrees,
    ) -> Result<VerificationTrees, WorkspaceError> {
        let workspace = Workspace::open(&self.revision_dir, &self.folder.path().join("then"))?;
        workspace.import_snapshot(&trees.workspace, &trees.judged)?;
        let with_installed = |tree: &TreeId, name| {
            workspace.restore(tree)?;
            self.link_installed_folders().map_err(|error| {
                WorkspaceError::io("prepare a revision", &self.revision_dir, error)
            })?;
            let snapshot = workspace.snapshot_kept(name)?;
            Ok::<_, WorkspaceError>(snapshot.tree)
        };
        let start = with_installed(&trees.start, "start")?;
        let judged = with_installed(&trees.judged, "judged")?;
        Ok(VerificationTrees::in_place(
            workspace.clone(),
            judged,
            start,
        ))
    }

    /// Replaces paths of the revision's folder by those of the workspace, so that the same failures compare equal and
    /// name files that exist.
    fn rename_files(&self, check: &mut CheckReport) {
        // With a slash at the end.
        let prefix = |folder: &Path| folder.join("").display().to_string();
        let (private, public) = (prefix(&self.revision_dir), prefix(&self.workspace));
        let failures = check.failures.iter_mut();
        let in_failures = failures.flat_map(|it| {
            let texts = [&mut it.file, &mut it.message, &mut it.excerpt];
            let texts = texts.into_iter().flatten();
            texts.chain([&mut it.summary])
        });
        let in_check = check.digest.iter_mut().chain(&mut check.reason);
        let texts = in_failures.chain(in_check).chain([&mut check.output]);
        for text in texts.filter(|text| text.contains(&private)) {
            *text = text.replace(&private, &public);
        }
    }

    /// Creates the folder for outputs.
    fn create_outputs_folder(&self) -> io::Result<PathBuf> {
        let outputs = self.folder.path().join("outputs");
        fs::create_dir_all(&outputs)?;
        Ok(outputs)
    }

    fn context(&self, outputs: PathBuf, supervisor: &Supervisor) -> VerificationContext {
        VerificationContext {
            workspace: self.revision_dir.clone(),
            files_root: self.revision_dir.clone(),
            tag: self.tag(),
            output_prefix: "baseline".to_owned(),
            passing_outputs: Vec::new(),
            lock: outputs.join("processes.lock"),
            run_dir: outputs,
            supervisor: supervisor.clone(),
            is_baseline: false,
            setup: SetupSpec::default(),
            setup_ms: Arc::default(),
        }
    }

    /// Unique tag, from the folder's name.
    fn tag(&self) -> String {
        let name = self.folder.path().file_name().unwrap_or_default();
        format!("{}.baseline", name.to_string_lossy())
    }

    /// Links the dependencies that are installed in the workspace.
    fn link_installed_folders(&self) -> io::Result<()> {
        let mut folders: BTreeSet<PathBuf> = list_files(&self.revision_dir)
            .iter()
            .flat_map(|file| file.ancestors().skip(1).map(Path::to_owned))
            .collect();
        folders.insert(PathBuf::new());
        for path in folders
            .iter()
            .flat_map(|folder| INSTALL_FOLDERS.map(|name| folder.join(name)))
        {
            let (there, here) = (self.workspace.join(&path), self.revision_dir.join(&path));
            if here.symlink_metadata().is_err() && there.is_dir() {
                symlink(&there, &here)?;
            }
        }
        Ok(())
    }
}

fn infrastructure_error(error: impl std::fmt::Display) -> CheckError {
    CheckError::Infrastructure(error.to_string())
}

/// The files below a folder, without following links.
fn list_files(root: &Path) -> BTreeSet<PathBuf> {
    let own = |name: &OsStr| {
        !EXTERNAL_FOLDERS
            .iter()
            .any(|other| name == OsStr::new(other))
    };
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
