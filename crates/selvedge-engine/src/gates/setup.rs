//! Runs the setup of a project for the checks: installs dependencies and resets state.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use selvedge_core::model::{CheckStatus, Step, StepKind, ToolFolderChanges, is_dependency_input};
use tokio_util::sync::CancellationToken;

use super::check_runner::{CheckDeadline, IndexedStep, VerificationContext};
use super::cross_verification::CrossedTrees;
use super::trees::run_blocking;
use super::verification_room::OpenVerificationRoom;
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::checks::CheckOutcome;
use crate::removal::remove_all;
use crate::workspace::Workspace;

/// Suffix of a tool folder that is moved aside while it is installed again.
const STASH_SUFFIX: &str = ".selvedge-aside";

/// Runs the setup in one folder.
pub(crate) struct DependencyInstaller<'a> {
    pub(crate) context: &'a VerificationContext,
    /// Where the checks run, if not in the workspace.
    pub(crate) verification_room: Option<&'a OpenVerificationRoom>,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a CancellationToken,
}

impl DependencyInstaller<'_> {
    /// Installs dependencies.
    ///
    /// # Errors
    /// A command fails, or the run is being stopped.
    pub(crate) async fn install(&self) -> Result<(), CheckError> {
        match self.try_install().await? {
            None => Ok(()),
            Some(error) => Err(CheckError::Infrastructure(error)),
        }
    }

    async fn try_install(&self) -> Result<Option<String>, CheckError> {
        for line in &self.context.setup.run {
            self.progress
                .on_activity(Activity::Note(format!("setup: {line}")));
        }
        let lines = &self.context.setup.run;
        run_lines(self.context, lines, "setup", self.progress, self.cancel).await
    }

    /// Installs dependencies for an attempt that changed installed files, manifests or lock files, and returns what a
    /// person has to review: files that were not installed again, or a setup that fails.
    ///
    /// The commands run on the attempt's work with the original test side: scripts of manifests, and the settings of
    /// package managers, are those from before the attempt.
    ///
    /// # Errors
    /// The trees cannot be composed, or the run is being stopped.
    pub(crate) async fn install_again(
        &self,
        trees: &CrossedTrees<'_>,
        steps: &[Step],
        changes: Option<ToolFolderChanges>,
    ) -> Result<Option<ToolFolderChanges>, CheckError> {
        if let Some(open) = self.verification_room {
            open.verification_room.forget_installed();
        }
        if self.context.setup.run.is_empty() {
            return Ok(changes);
        }
        if changes.is_none() && !self.changes_inputs(trees).await? {
            return Ok(None);
        }
        let installed = self.install_on(trees, steps, changes.as_ref()).await;
        trees.trees.reset_to_judged_tree().await?;
        let error = match installed? {
            InstallOutcome::All => return Ok(None),
            InstallOutcome::AllBut(folders) => {
                return Ok(changes.and_then(|changes| changes.within(&folders)));
            }
            InstallOutcome::Failed(error) => error,
        };
        let mut left = changes.unwrap_or_default();
        left.setup_error = Some(error);
        Ok(Some(left))
    }

    /// Installs dependencies on a composed tree, which remains in the workspace.
    async fn install_on(
        &self,
        trees: &CrossedTrees<'_>,
        steps: &[Step],
        changes: Option<&ToolFolderChanges>,
    ) -> Result<InstallOutcome, CheckError> {
        let files = trees.find_files(&self.context.with_setup(steps)).await?;
        if !files.is_empty() {
            let name = self.context.with_prefix("setup").tag;
            let name = name.replacen('.', "/", 1).replace('.', "-");
            trees.compose(name, &files).await?;
        }
        let folders: &[String] = changes.map_or(&[], |changes| changes.folders.as_slice());
        if let Some(open) = self.verification_room {
            return self.install_in_room(open, folders).await;
        }
        let paths = folders.iter().map(PathBuf::from);
        let aside = StashedFolders::stash(&self.context.workspace, paths);
        let installed = self.try_install().await;
        let left = aside.finish(!matches!(installed, Ok(None)));
        let left = left.iter().map(|path| path.to_string_lossy().into_owned());
        let left: Vec<String> = left.collect();
        Ok(match installed? {
            Some(error) => InstallOutcome::Failed(error),
            None => InstallOutcome::all_but(left),
        })
    }

    /// Installs dependencies in a verification room, without the workspace's installed tools; `folders` are those that
    /// should exist afterwards.
    async fn install_in_room(
        &self,
        open: &OpenVerificationRoom,
        folders: &[String],
    ) -> Result<InstallOutcome, CheckError> {
        let room = open.verification_room.clone();
        let remove = move |_: &Workspace| room.remove_copied_tools();
        let what = "cannot remove copies of installed tools";
        run_blocking(open.verification_room.workspace(), what, remove).await?;
        let place = VerificationContext {
            supervisor: open.installer(),
            ..self.context.clone()
        };
        let setup = DependencyInstaller {
            context: &place,
            ..*self
        };
        if let Some(error) = setup.try_install().await? {
            return Ok(InstallOutcome::Failed(error));
        }
        let room = open.verification_room.clone();
        let note = move |_: &Workspace| room.note_installed();
        let what = "cannot determine what was installed";
        let installed = run_blocking(open.verification_room.workspace(), what, note).await?;
        let is_missing = |folder: &&String| !installed.contains(Path::new(folder));
        let missing = folders.iter().filter(is_missing).cloned().collect();
        Ok(InstallOutcome::all_but(missing))
    }

    /// Whether the attempt changed manifests or lock files.
    async fn changes_inputs(&self, trees: &CrossedTrees<'_>) -> Result<bool, CheckError> {
        let (start, judged) = (trees.trees.start.clone(), trees.trees.judged.clone());
        if start == judged {
            return Ok(false);
        }
        let find = move |workspace: &Workspace| {
            let is_input = |path: &Path| is_dependency_input(&path.to_string_lossy());
            Ok(!workspace
                .compare_files(&start, &judged, is_input)?
                .is_empty())
        };
        run_blocking(&trees.trees.workspace, "cannot compare the trees", find).await
    }
}

/// Files that the setup has installed.
enum InstallOutcome {
    All,
    /// All folders but these, which the setup does not create.
    AllBut(Vec<String>),
    Failed(String),
}

impl InstallOutcome {
    /// All but these folders.
    fn all_but(left: Vec<String>) -> Self {
        if left.is_empty() {
            Self::All
        } else {
            Self::AllBut(left)
        }
    }
}

/// Runs commands one after the other; returns the reason of the first that fails.
pub(super) async fn run_lines(
    place: &VerificationContext,
    lines: &[String],
    name: &str,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Option<String>, CheckError> {
    let place = place.with_prefix(name);
    let limit = Duration::from_millis(place.setup.timeout_ms);
    let deadline = CheckDeadline::new(Instant::now() + limit);
    for (index, line) in lines.iter().enumerate() {
        let step = Step::new(StepKind::Command, line);
        let numbered = IndexedStep { index, step: &step };
        let finding = place
            .run_check_silent(numbered, &deadline, progress, cancel)
            .await?;
        if finding.status != CheckStatus::Pass {
            return Ok(Some(describe_failure(name, line, &finding)));
        }
    }
    Ok(None)
}

fn describe_failure(name: &str, line: &str, finding: &CheckOutcome) -> String {
    let reason = finding.reason.as_deref().unwrap_or("it failed");
    // The last lines of package managers are about their logs.
    let failures = finding.analysis.iter().flat_map(|it| &it.failures);
    let first = failures.map(|failure| failure.summary.as_str()).next();
    let last = || {
        let mut lines = finding.output.lines().rev();
        lines.find(|line| !line.trim().is_empty())
    };
    let detail = first.or_else(last);
    let detail = detail.map_or_else(String::new, |line| format!(": {}", line.trim()));
    format!("{name} `{line}`: {reason}{detail}")
}

/// Tool folders that are moved aside while they are installed again.
struct StashedFolders {
    root: PathBuf,
    folders: BTreeSet<PathBuf>,
    /// Folders that could not be moved: their content is not installed again.
    unmovable: BTreeSet<PathBuf>,
}

impl StashedFolders {
    /// Moves folders aside, each to a sibling.
    fn stash(root: &Path, folders: impl Iterator<Item = PathBuf>) -> Self {
        let folders: BTreeSet<PathBuf> = folders.collect();
        let mut unmoved = BTreeSet::new();
        for folder in &folders {
            let (from, to) = (root.join(folder), stash_path(&root.join(folder)));
            // After an interruption here, the folder that was moved aside is complete, and the other one is not.
            if to.symlink_metadata().is_ok() {
                let _ = remove_all(&from);
            } else {
                let _ = fs::rename(&from, to);
            }
            if from.symlink_metadata().is_ok() {
                unmoved.insert(folder.clone());
            }
        }
        Self {
            root: root.to_owned(),
            folders,
            unmovable: unmoved,
        }
    }

    /// Removes the old folders that were installed again, and restores the others; returns the latter. If the setup
    /// `failed`, all are restored.
    fn finish(self, failed: bool) -> BTreeSet<PathBuf> {
        let Self {
            root,
            folders,
            unmovable: unmoved,
        } = self;
        let put_back = folders.into_iter().filter(|folder| {
            let (at, aside) = (root.join(folder), stash_path(&root.join(folder)));
            if unmoved.contains(folder) {
                return true;
            }
            if aside.symlink_metadata().is_err() {
                // The attempt had removed it.
                return failed || !at.is_dir();
            }
            if !failed && at.is_dir() {
                let _ = remove_all(&aside);
                return false;
            }
            let _ = remove_all(&at);
            // A folder that cannot be restored is missing, and checks that need it fail.
            let _ = fs::rename(&aside, &at);
            true
        });
        put_back.collect()
    }
}

fn stash_path(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(STASH_SUFFIX);
    name.into()
}
