//! Runs the setup of a project for the checks: installs dependencies and resets state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use selvedge_core::crossing::{CrossedFile, Replacement, with_supported_versions};
use selvedge_core::format::duration;
use selvedge_core::guard::ChangedFile;
use selvedge_core::installed::{InstalledFiles, dependency_files, unexplained_files};
use selvedge_core::model::{
    CheckStatus, Step, StepKind, ToolFolderChanges, TreeId, is_dependency_input,
};
use tokio_util::sync::CancellationToken;

use super::check_runner::{CheckDeadline, IndexedStep, VerificationContext, millis};
use super::cross_verification::CrossedTrees;
use super::installed::is_program;
use super::trees::run_blocking;
use super::verification_room::OpenVerificationRoom;
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::checks::CheckOutcome;
use crate::removal::remove_all;
use crate::tools;
use crate::workspace::{FileContent, Workspace};

/// Prefix of the names of a setup that runs without the attempt's code.
const BEFORE: &str = "before";
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
        let (lines, start) = (&self.context.setup.run, Instant::now());
        let error = run_lines(self.context, lines, "setup", self.progress, self.cancel).await?;
        if !lines.is_empty() {
            let took = start.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
            let took = format!("setup finished in {}", duration(took));
            self.progress.on_activity(Activity::Note(took));
        }
        Ok(error)
    }

    /// Installs dependencies for an attempt that changed installed files, manifests or lock files.
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
    ) -> Result<InstalledAgain, CheckError> {
        if let Some(open) = self.verification_room {
            open.verification_room.forget_installed();
        }
        if self.context.setup.run.is_empty()
            || (changes.is_none() && !self.changes_inputs(trees).await?)
        {
            return Ok(InstalledAgain {
                changes,
                files: None,
                has_run: false,
            });
        }
        let mut composed = trees.trees.judged.clone();
        let installed = self
            .install_on(trees, steps, changes.as_ref(), &mut composed)
            .await;
        let compared = match &installed {
            Ok(InstallOutcome::All | InstallOutcome::AllBut(_)) => {
                self.compare_installed(trees, &composed).await.map(Some)
            }
            _ => Ok(None),
        };
        trees.trees.reset_to_judged_tree().await?;
        let installed = installed?;
        let (files, differing) = compared?.unzip();
        let changes = match installed {
            InstallOutcome::All => differing.flatten(),
            InstallOutcome::AllBut(folders) => {
                let left = changes.and_then(|changes| changes.within(&folders));
                left.or(differing.flatten())
            }
            InstallOutcome::Failed(error) => {
                let mut left = changes.unwrap_or_default();
                left.setup_error = Some(error);
                Some(left)
            }
        };
        Ok(InstalledAgain {
            changes,
            files,
            has_run: true,
        })
    }

    /// Installs dependencies on a tree that is `composed` if the test side differs, and remains in the workspace.
    async fn install_on(
        &self,
        trees: &CrossedTrees<'_>,
        steps: &[Step],
        changes: Option<&ToolFolderChanges>,
        composed: &mut TreeId,
    ) -> Result<InstallOutcome, CheckError> {
        let files = trees.find_files(&self.context.with_setup(steps)).await?;
        let files = take_supported_versions(trees, files).await?;
        if !files.is_empty() {
            let name = self.context.with_prefix("setup").tag;
            let name = name.replacen('.', "/", 1).replace('.', "-");
            *composed = trees.compose(name, &files).await?;
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

    /// Installs dependencies in the room once more, without those that are installed there, for a tree that is composed
    /// for a run of the checks. Returns whether they are the `first` ones, except for files that differ from one setup to
    /// the next: checks have run since, and may have changed what package managers keep outside of the room.
    ///
    /// Tools such as `uv run` install a project again if a manifest differs from the one that they installed it from.
    /// If that happened while the checks run, nobody could tell it from an attempt that changes tools meanwhile.
    ///
    /// # Errors
    /// A command fails, or the run is being stopped.
    pub(super) async fn install_for(
        &self,
        open: &OpenVerificationRoom,
        trees: &CrossedTrees<'_>,
        tree: &TreeId,
        first: &InstalledFiles,
    ) -> Result<bool, CheckError> {
        if let InstallOutcome::Failed(error) = self.install_in_room(open, &[]).await? {
            return Err(CheckError::Infrastructure(error));
        }
        let after = self.read_installed(trees).await?;
        let mut differing = unexplained_files(first, &after, is_program);
        if !differing.is_empty() {
            let reference = find_reference(trees, tree, None).await?;
            let (_, installed) = self
                .install_reference(trees, &reference, &differing)
                .await?;
            differing = self
                .without_varying(trees, &reference, differing, &installed)
                .await?;
        }
        trees.trees.reset_to(tree).await?;
        Ok(differing.is_empty())
    }

    /// Installs dependencies in a verification room, without the workspace's installed tools; `folders` are those that
    /// should exist afterwards.
    async fn install_in_room(
        &self,
        open: &OpenVerificationRoom,
        folders: &[String],
    ) -> Result<InstallOutcome, CheckError> {
        let room = open.verification_room.clone();
        let remove = move |_: &Workspace| room.remove_tools();
        let (workspace, what) = (
            open.verification_room.workspace(),
            "cannot remove installed tools",
        );
        run_blocking(workspace, what, remove).await?;
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
        let installed = run_blocking(workspace, what, note).await?;
        let is_missing = |folder: &&String| !installed.contains(Path::new(folder));
        let missing = folders.iter().filter(is_missing).cloned().collect();
        Ok(InstallOutcome::all_but(missing))
    }

    /// What was installed for the attempt, and how it differs from what was installed before.
    async fn compare_installed(
        &self,
        trees: &CrossedTrees<'_>,
        composed: &TreeId,
    ) -> Result<(InstalledFiles, Option<ToolFolderChanges>), CheckError> {
        let after = self.read_installed(trees).await?;
        let differing = self.find_differing(trees, composed, &after).await?;
        Ok((after, differing))
    }

    /// Compares what was installed for the attempt with what was installed before, and if necessary with what the setup
    /// installs for the attempt's dependencies without its code. Leaves another tree in the room.
    async fn find_differing(
        &self,
        trees: &CrossedTrees<'_>,
        composed: &TreeId,
        after: &InstalledFiles,
    ) -> Result<Option<ToolFolderChanges>, CheckError> {
        let recorded = tools::recorded_files(&self.context.run_dir);
        let reference = find_reference(trees, composed, recorded.as_ref()).await?;
        if reference.is_composed {
            return Ok(None);
        }
        let mut differing = match &recorded {
            Some(before) => unexplained_files(before, after, is_program),
            None => after.keys().cloned().collect(),
        };
        if differing.is_empty() {
            return Ok(None);
        }
        let note = "comparing with what the setup installs without the attempt's code".to_owned();
        self.progress.on_activity(Activity::Note(note));
        let (setup_error, installed) = self
            .install_reference(trees, &reference, &differing)
            .await?;
        if setup_error.is_none() {
            let unexplained = unexplained_files(&installed, after, is_program);
            differing.retain(|path| unexplained.binary_search(path).is_ok());
            differing = self
                .without_varying(trees, &reference, differing, &installed)
                .await?;
        }
        let files = differing.len();
        differing.truncate(ToolFolderChanges::MAX_LISTED);
        Ok((files > 0).then(|| ToolFolderChanges {
            files: files as u64,
            listed: differing,
            by_setup: true,
            setup_error,
            ..ToolFolderChanges::default()
        }))
    }

    /// Leaves out files that differ from one setup to the next, such as logs of native builds: they do not depend on the
    /// attempt. `installed` is what the setup installed without it.
    async fn without_varying(
        &self,
        trees: &CrossedTrees<'_>,
        reference: &ReferenceTree,
        mut files: Vec<String>,
        installed: &InstalledFiles,
    ) -> Result<Vec<String>, CheckError> {
        if files.is_empty() {
            return Ok(files);
        }
        let (_, again) = self.install_reference(trees, reference, &files).await?;
        files.retain(|path| match (installed.get(path), again.get(path)) {
            (Some(one), Some(other)) => one.content == other.content,
            _ => true,
        });
        Ok(files)
    }

    async fn read_installed(&self, trees: &CrossedTrees<'_>) -> Result<InstalledFiles, CheckError> {
        let room = self
            .verification_room
            .map(|open| open.verification_room.clone());
        let read = move |workspace: &Workspace| match room {
            Some(room) => Ok(room.read_installed()),
            None => workspace.installed_files(),
        };
        let what = "cannot read what was installed";
        run_blocking(&trees.trees.workspace, what, read).await
    }

    /// Runs the setup with the attempt's dependencies alone, for the folders of these files. Returns why it failed, if it
    /// did, and what it installed.
    async fn install_reference(
        &self,
        trees: &CrossedTrees<'_>,
        reference: &ReferenceTree,
        files: &[String],
    ) -> Result<(Option<String>, InstalledFiles), CheckError> {
        match self.verification_room {
            Some(open) => self.install_in_other_room(open, trees, reference).await,
            None => self.install_in_place(trees, reference, files).await,
        }
    }

    /// Does so in another room.
    async fn install_in_other_room(
        &self,
        open: &OpenVerificationRoom,
        trees: &CrossedTrees<'_>,
        reference: &ReferenceTree,
    ) -> Result<(Option<String>, InstalledFiles), CheckError> {
        let Some(other) = open.open_beside(&trees.trees.start).await? else {
            let error = "no room can be made for it".to_owned();
            return Ok((Some(error), InstalledFiles::new()));
        };
        reference.write(other.verification_room.workspace()).await?;
        let place = VerificationContext {
            files_root: other.tree().to_owned(),
            ..self.context.with_prefix(BEFORE)
        };
        let setup = DependencyInstaller {
            context: &place,
            verification_room: Some(&other),
            ..*self
        };
        let installed = setup.install_in_room(&other, &[]).await;
        let before = setup.read_installed(trees).await;
        other.discard().await?;
        let error = match installed? {
            InstallOutcome::All | InstallOutcome::AllBut(_) => None,
            InstallOutcome::Failed(error) => Some(error),
        };
        Ok((error, before?))
    }

    /// Does so in the workspace, where the attempt's tools are moved aside meanwhile.
    async fn install_in_place(
        &self,
        trees: &CrossedTrees<'_>,
        reference: &ReferenceTree,
        files: &[String],
    ) -> Result<(Option<String>, InstalledFiles), CheckError> {
        trees.trees.ensure_tree(&trees.trees.start).await?;
        reference.write(&trees.trees.workspace).await?;
        let find = |workspace: &Workspace| workspace.tool_folders();
        let what = "cannot find what was installed";
        let folders = run_blocking(&trees.trees.workspace, what, find).await?;
        let has_file =
            |folder: &PathBuf| files.iter().any(|file| Path::new(file).starts_with(folder));
        let folders = folders.into_iter().filter(has_file);
        let aside = StashedFolders::stash(&self.context.workspace, folders);
        let place = self.context.with_prefix(BEFORE);
        let setup = DependencyInstaller {
            context: &place,
            ..*self
        };
        let installed = setup.try_install().await;
        let before = self.read_installed(trees).await;
        aside.finish(true);
        Ok((installed?, before?))
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

/// Gives merged manifests the versions of languages that the attempt supports, which lock files repeat.
async fn take_supported_versions(
    trees: &CrossedTrees<'_>,
    mut files: Vec<CrossedFile>,
) -> Result<Vec<CrossedFile>, CheckError> {
    let judged = trees.trees.judged.clone();
    let take = move |workspace: &Workspace| {
        let merged = files
            .iter_mut()
            .filter_map(|file| match &mut file.replacement {
                Replacement::Merged(bytes) => Some((PathBuf::from(&file.path), bytes)),
                _ => None,
            });
        let mut merged: BTreeMap<PathBuf, &mut Vec<u8>> = merged.collect();
        if !merged.is_empty() {
            let own = workspace.read_files(&judged, |path| merged.contains_key(path))?;
            for (path, bytes) in &mut merged {
                let own = own.get(path).and_then(Option::as_deref);
                let name = path.to_string_lossy();
                let changed = own.and_then(|own| with_supported_versions(&name, bytes, own));
                if let Some(changed) = changed {
                    **bytes = changed;
                }
            }
        }
        Ok(files)
    };
    let what = "cannot read the attempt's manifests";
    run_blocking(&trees.trees.workspace, what, take).await
}

/// The tree from before the attempt with the attempt's dependencies.
struct ReferenceTree {
    /// The tree in which the setup ran for the attempt.
    composed: TreeId,
    /// Whether it is the same.
    is_composed: bool,
    /// Files that this tree has in addition to those from before, or with other bytes.
    written: Vec<(PathBuf, Vec<u8>)>,
    absent: Vec<PathBuf>,
}

impl ReferenceTree {
    /// Writes it to a workspace with the tree from before the attempt.
    async fn write(&self, workspace: &Workspace) -> Result<(), CheckError> {
        let composed = self.composed.clone();
        let (written, absent) = (self.written.clone(), self.absent.clone());
        let write = move |workspace: &Workspace| workspace.compose(&composed, &absent, &written);
        let what = "cannot write the attempt's dependencies";
        run_blocking(workspace, what, write).await
    }
}

/// `composed` is the tree in which the setup ran for the attempt, and `installed` was installed before.
async fn find_reference(
    trees: &CrossedTrees<'_>,
    composed: &TreeId,
    installed: Option<&InstalledFiles>,
) -> Result<ReferenceTree, CheckError> {
    let (start, composed) = (trees.trees.start.clone(), composed.clone());
    let installed = installed.cloned().unwrap_or_default();
    let find = move |workspace: &Workspace| {
        let compared = workspace.compare_files(&start, &composed, |_| true)?;
        let paths: Vec<_> = compared
            .iter()
            .map(|it| it.path.to_string_lossy())
            .collect();
        let changes = compared.iter().zip(&paths);
        let changes: Vec<ChangedFile<'_>> = changes
            .map(|(file, path)| file.changed_file(path))
            .collect();
        let files = dependency_files(&changes, &installed);
        let is_same = |change: &ChangedFile<'_>| {
            let file = files.get(change.path).map(Option::as_deref);
            file == Some(change.after)
        };
        let has_link = compared.iter().any(|file| file.after == FileContent::Link);
        let is_composed = !has_link && changes.iter().all(is_same);
        let (mut written, mut absent) = (Vec::new(), Vec::new());
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => written.push((PathBuf::from(path), bytes)),
                None => absent.push(PathBuf::from(path)),
            }
        }
        Ok(ReferenceTree {
            composed,
            is_composed,
            written,
            absent,
        })
    };
    let what = "cannot read the attempt's dependencies";
    run_blocking(&trees.trees.workspace, what, find).await
}

/// What a setup has installed for an attempt.
pub(crate) struct InstalledAgain {
    /// What a person has to review: files that were not installed again, or differ, or a setup that fails.
    pub(crate) changes: Option<ToolFolderChanges>,
    /// The files of tools, if they were installed.
    pub(crate) files: Option<InstalledFiles>,
    /// Whether it has run. It may have written any file.
    pub(crate) has_run: bool,
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
        let took = millis(finding.duration);
        place.setup_ms.fetch_add(took, Ordering::Relaxed);
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
