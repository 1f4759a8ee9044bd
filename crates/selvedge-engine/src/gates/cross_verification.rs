//! Crossed runs: the checks with the original tests, i.e. the test side from before the attempt, and the attempt's
//! work side.
//!
//! The tree is composed from snapshots, in the folder where the checks run. [`selvedge_core::crossing`] decides which
//! files are replaced, and how results are interpreted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use selvedge_core::crossing::{
    AttemptsTests, BaseFiles, CrossedFile, CrossedRuns, ExpectedChanges, NextRun, ProjectSide,
    RenamedOriginals, Replacement, accept_unexpected_passes, conclude, content_filter,
    is_plain_test, name_changed, next_run, report_all_expected, scripts_among,
};
use selvedge_core::guard::ChangedFile;
use selvedge_core::installed::InstalledFiles;
use selvedge_core::machine::excuse_known_failures;
use selvedge_core::model::{CheckReport, CrossedReport, KnownFailures, RunSpec, Step, TreeId};
use tokio_util::sync::CancellationToken;

use super::check_runner::{CheckDeadline, IndexedStep, VerificationContext};
use super::guard::remove_new_bytecode;
use super::installed::InstalledModules;
use super::known_failures::mark_touched;
use super::originals::ProjectChanges;
use super::reruns::CheckReruns;
use super::setup::DependencyInstaller;
use super::trees::{VerificationTrees, run_blocking};
use super::verification::check_reports;
use super::verification_room::OpenVerificationRoom;
use super::written_files::{FilesBeforeChecks, WrittenFiles};
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::workspace::Workspace;

/// The second verification of an attempt whose checks pass.
pub(super) struct CrossVerification<'a> {
    /// Trees of the folder where the checks run.
    pub(super) trees: CrossedTrees<'a>,
    pub(super) context: &'a VerificationContext,
    pub(super) steps: &'a [Step],
    /// For each check, its report of the baseline, if there is one.
    pub(super) baseline: &'a [Option<CheckReport>],
    /// Tests that are allowed to fail.
    pub(super) known_failures: &'a KnownFailures,
    /// Time limit of each run.
    pub(super) limit: Duration,
    pub(super) rerun_failed: bool,
    /// Declared changes of tests.
    pub(super) expected: ExpectedChanges<'a>,
    /// Start of the run in seconds since 1970: what was compiled since then is compiled again.
    pub(super) started_at: i64,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
    /// Installs dependencies in the room for each composed tree, if the checks did so themselves in the attempt's own
    /// tree.
    pub(super) installer: Option<RoomInstaller<'a>>,
    pub(super) written: WrittenFiles,
}

/// Installs dependencies in a room.
#[derive(Clone, Copy)]
pub(super) struct RoomInstaller<'a> {
    pub(super) setup: &'a DependencyInstaller<'a>,
    pub(super) room: &'a OpenVerificationRoom,
    /// What it has installed for the attempt, before checks ran.
    pub(super) first: &'a InstalledFiles,
}

/// The files that the crossed runs replace.
#[derive(Debug, Default)]
pub(super) struct Originals {
    /// The changed files that are not on the work side alone.
    files: Vec<CrossedFile>,
    /// The same with files that the attempt renamed.
    renamed: Option<RenamedOriginals>,
    /// The attempt's plain test files among `files`.
    tests: AttemptsTests,
    /// Files that the attempt deleted.
    deleted: BTreeSet<String>,
}

impl CrossVerification<'_> {
    /// Runs the checks with the original tests, if the attempt changed anything on the test side. `delivered` is their
    /// report for the attempt's own tree. Afterwards the folder contains a composed tree.
    pub(super) async fn run(
        &mut self,
        originals: Originals,
        delivered: &[CheckReport],
    ) -> Result<Option<CrossedReport>, CheckError> {
        let Originals {
            mut files,
            mut renamed,
            tests,
            deleted,
        } = originals;
        let expected_files = self.expected.extract_files(&mut files);
        if let Some(renamed) = &mut renamed {
            self.expected.extract_files(&mut renamed.files);
        }
        if files.is_empty() {
            return Ok((!expected_files.is_empty()).then(|| report_all_expected(expected_files)));
        }
        self.note(format!(
            "running the checks with the original tests: the attempt changed {}",
            name_changed(&files)
        ));
        let mut runs = CrossedRuns {
            deleted,
            original: Box::pin(self.run_with_originals("crossed", &files, delivered)).await?,
            ..CrossedRuns::default()
        };
        let known = self.baseline;
        let baseline: Vec<Option<&CheckReport>> = known.iter().map(Option::as_ref).collect();
        loop {
            let expected = &self.expected;
            match next_run(
                &files,
                renamed.is_some(),
                &tests,
                &baseline,
                &runs,
                expected,
            ) {
                NextRun::Done => break,
                NextRun::WithAddedTests(tests) => {
                    self.note("running them again, with the tests that the attempt added");
                    let others = files.iter().filter(|file| !tests.contains(&file.path));
                    let others: Vec<CrossedFile> = others.cloned().collect();
                    let checks =
                        Box::pin(self.run_with_originals("crossed-added", &others, delivered))
                            .await?;
                    runs.with_added_tests = Some(checks);
                }
                NextRun::WithNewNames => {
                    self.note("running them again, with the names that the attempt changed");
                    let RenamedOriginals { names, files } = renamed.clone().unwrap_or_default();
                    let checks =
                        Box::pin(self.run_with_originals("crossed-renamed", &files, delivered))
                            .await?;
                    runs.renamed = Some((names, checks));
                }
                NextRun::WithAttemptsShared => {
                    self.note(
                        "running them again, with the attempt's versions of files that tests and code share",
                    );
                    let tests = files.iter().filter(|file| file.side == ProjectSide::Test);
                    let tests: Vec<CrossedFile> = tests.cloned().collect();
                    let checks =
                        Box::pin(self.run_with_originals("crossed-shared", &tests, delivered))
                            .await?;
                    runs.with_attempts_shared = Some(checks);
                }
                NextRun::WithoutUnfit(unfit) => {
                    self.note(
                        "running them again, without original tests that do not fit the attempt's code",
                    );
                    let takes_shared = runs.with_attempts_shared.is_some();
                    let fitting = files.iter().filter(|file| {
                        let is_attempts = takes_shared && file.side == ProjectSide::Shared;
                        !is_attempts && !unfit.contains(&file.path)
                    });
                    let fitting: Vec<CrossedFile> = fitting.cloned().collect();
                    let checks =
                        Box::pin(self.run_with_originals("crossed-fitting", &fitting, delivered))
                            .await?;
                    runs.without_unfit = Some((unfit, checks));
                }
            }
        }
        Ok(Some(conclude(
            &files,
            &baseline,
            &runs,
            &self.expected,
            expected_files,
        )))
    }

    /// Tells the user what takes time: the single checks of these runs are not shown.
    fn note(&self, what: impl Into<String>) {
        self.progress.on_activity(Activity::Note(what.into()));
    }

    /// Runs the checks on the attempt's tree with the originals of `files`.
    async fn run_with_originals(
        &mut self,
        name: &str,
        files: &[CrossedFile],
        delivered: &[CheckReport],
    ) -> Result<Vec<CheckReport>, CheckError> {
        let mut place = self.context.with_prefix(name).for_successive_checks();
        let name = place.tag.replacen('.', "/", 1).replace('.', "-");
        let crossed = self.trees.compose(name, files).await?;
        self.remove_bytecode().await?;
        if let Some(RoomInstaller { setup, room, first }) = self.installer {
            if !setup
                .install_for(room, &self.trees, &crossed, first)
                .await?
            {
                self.installer = None;
            }
            // With what was just installed.
            place.supervisor = room.supervisor();
        }
        place.reset(self.progress, self.cancel).await?;
        let before = FilesBeforeChecks::capture(&self.trees.trees.workspace).await?;
        let deadline = CheckDeadline::new(Instant::now() + self.limit);
        let mut checks = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.iter().enumerate() {
            let as_delivered = delivered.get(index).filter(|_| !step.kind.executes());
            if let Some(check) = as_delivered {
                checks.push(check.clone());
                continue;
            }
            let numbered = IndexedStep { index, step };
            let finding = place
                .run_check_silent(numbered, &deadline, self.progress, self.cancel)
                .await?;
            let redactor = place.supervisor.redactor();
            checks.extend(check_reports(
                std::slice::from_ref(step),
                vec![finding],
                redactor,
            )?);
        }
        let steps = self.context.with_setup(self.steps);
        let written = before.find_written(&self.trees.trees.start, &steps).await?;
        self.written.extend(written);
        if self.rerun_failed {
            let trees = VerificationTrees {
                judged: crossed,
                ..self.trees.trees.clone()
            };
            self.rerun_failed_checks(&place, &trees, &mut checks)
                .await?;
        }
        mark_touched(self.known_failures, Some(self.trees.trees), &mut checks).await?;
        for (index, check) in checks.iter_mut().enumerate() {
            let before = self.baseline.get(index).and_then(Option::as_ref);
            excuse_known_failures(self.known_failures, before, check);
            accept_unexpected_passes(before, check);
            self.expected.excuse(check);
        }
        // Compiled versions of these tests would block folders that the attempt replaced.
        self.remove_bytecode().await?;
        Ok(checks)
    }

    async fn remove_bytecode(&self) -> Result<(), CheckError> {
        let (dir, began) = (self.context.files_root.clone(), self.started_at);
        let forget = move |_: &Workspace| {
            remove_new_bytecode(&dir, began);
            Ok(())
        };
        let workspace = &self.trees.trees.workspace;
        run_blocking(workspace, "cannot remove byte code", forget).await
    }

    async fn rerun_failed_checks(
        &self,
        place: &VerificationContext,
        trees: &VerificationTrees,
        checks: &mut [CheckReport],
    ) -> Result<(), CheckError> {
        let reruns = CheckReruns {
            context: place,
            trees: Some(trees),
            limit: self.limit,
            progress: self.progress,
            cancel: self.cancel,
            spent_ms: AtomicU64::new(0),
        };
        for (index, (step, check)) in self.steps.iter().zip(checks).enumerate() {
            let before = self.baseline.get(index).and_then(Option::as_ref);
            // A check that failed in the baseline is not flaky.
            if before.is_some_and(|before| before.status.is_failure()) {
                continue;
            }
            let passed =
                before.map(|before| before.status == selvedge_core::model::CheckStatus::Pass);
            reruns
                .rerun(IndexedStep { index, step }, before, check)
                .await?;
            selvedge_core::machine::apply_reruns(passed, check);
        }
        Ok(())
    }
}

/// The trees from which a crossed tree is composed.
#[derive(Debug)]
pub(crate) struct CrossedTrees<'a> {
    /// The judged tree and the one that the run began from.
    pub(crate) trees: &'a VerificationTrees,
    /// The tree whose tests judge the work, if it is not the one that the run began from.
    pub(crate) test_base: Option<&'a TreeId>,
    /// Globs of files that the task may change: scripts of checks that were added since `test_base` count if one
    /// matches.
    pub(crate) allow: &'a [String],
    /// Declared changes of tests.
    pub(crate) expected: &'a [String],
}

impl CrossedTrees<'_> {
    /// The changed files that are not on the work side alone.
    pub(crate) async fn find_files(&self, steps: &[Step]) -> Result<Vec<CrossedFile>, CheckError> {
        Ok(self.find_originals(steps).await?.files)
    }

    /// Reads only snapshots and the names of installed modules.
    pub(super) async fn find_originals(&self, steps: &[Step]) -> Result<Originals, CheckError> {
        let (start, judged) = (self.trees.start.clone(), self.trees.judged.clone());
        let (test_base, steps) = (self.test_base.cloned(), steps.to_vec());
        let (allow, expected) = (self.allow.to_vec(), self.expected.to_vec());
        let installed_in = self.trees.tools_root().to_owned();
        let find = move |workspace: &Workspace| {
            let refers = content_filter(&steps);
            let may_refer = |path: &Path| refers(&path.to_string_lossy());
            let mut compared = workspace.compare_files(&start, &judged, |_| true)?;
            let mut added_scripts = Vec::new();
            let mut original = BTreeMap::new();
            if let Some(plan_start) = &test_base {
                // Files that existed at the start of the plan keep their version from then; files that were added
                // since keep the version of `start`.
                original = workspace.read_files(plan_start, may_refer)?;
                compared.retain(|file| !original.contains_key(&file.path));
                let since = workspace
                    .compare_files(plan_start, &judged, |path| original.contains_key(path))?;
                compared.extend(since);
                let added = workspace
                    .compare_files(plan_start, &start, |path| !original.contains_key(path))?;
                let names = added.iter().map(|file| path_text(&file.path));
                added_scripts = scripts_among(names, &steps, &allow);
            }
            if compared.is_empty() && added_scripts.is_empty() {
                return Ok(Originals::default());
            }
            let mut files = workspace.read_files(&start, may_refer)?;
            files.extend(original);
            let names: Vec<String> = compared.iter().map(|file| path_text(&file.path)).collect();
            let changes: Vec<ChangedFile<'_>> = compared
                .iter()
                .zip(&names)
                .map(|(file, path)| file.changed_file(path))
                .collect();
            let base: BaseFiles = files
                .into_iter()
                .map(|(path, bytes)| (path_text(&path), bytes))
                .collect();
            let installed = InstalledModules::scan(&installed_in, &base);
            let found = ProjectChanges {
                base: &base,
                files: &changes,
                steps: &steps,
                expected: &ExpectedChanges::new(&expected),
                is_installed: &|path| installed.has_module_of(path),
            };
            let (mut files, mut renamed) = found.find_originals();
            let renamed_files = renamed.as_mut().map(|renamed| &mut renamed.files);
            for files in [Some(&mut files), renamed_files].into_iter().flatten() {
                files.retain(|file| !added_scripts.contains(&file.path));
                files.extend(added_scripts.iter().cloned().map(CrossedFile::removed));
            }
            let mut tests = AttemptsTests::default();
            for file in files.iter().filter(|file| is_plain_test(file)) {
                let change = changes.iter().find(|change| change.path == file.path);
                let change = change.filter(|change| change.after.is_some());
                let group = match change.map(|change| change.before) {
                    Some(None) if !added_scripts.contains(&file.path) => &mut tests.added,
                    Some(Some(_)) => &mut tests.edited,
                    _ => continue,
                };
                group.insert(file.path.clone());
            }
            let gone = changes.iter().filter(|change| change.after.is_none());
            let deleted = gone.map(|change| change.path.to_owned()).collect();
            Ok(Originals {
                files,
                renamed,
                tests,
                deleted,
            })
        };
        run_blocking(&self.trees.workspace, "cannot compare the trees", find).await
    }

    /// Makes the folder equal to the judged tree with the originals of `files`; returns the resulting tree, which is
    /// kept under `name`.
    pub(crate) async fn compose(
        &self,
        name: String,
        files: &[CrossedFile],
    ) -> Result<TreeId, CheckError> {
        self.trees.reset_to_judged_tree().await?;
        let (start, plan_start) = (self.trees.start.clone(), self.test_base.cloned());
        let (mut originals, mut merged, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            let path = PathBuf::from(&file.path);
            match &file.replacement {
                Replacement::Base => originals.push(path),
                Replacement::Merged(bytes) => merged.push((path, bytes.clone())),
                Replacement::Removed => removed.push(path),
            }
        }
        let room = self.trees.verification_room.clone();
        let replaced: Vec<PathBuf> = files.iter().map(|file| file.path.clone().into()).collect();
        let compose =
            move |workspace: &Workspace| {
                let committed = match &room {
                    Some(room) => room.find_committed(&replaced)?,
                    None => None,
                };
                let (from_plan, from_start) = match &plan_start {
                    None => (Vec::new(), originals),
                    Some(tree) => {
                        let there = workspace.read_files(tree, |_| false)?;
                        originals
                            .into_iter()
                            .partition(|path| there.contains_key(path))
                    }
                };
                workspace.compose(&start, &from_start, &merged)?;
                if let Some(tree) = &plan_start {
                    workspace.compose(tree, &[from_plan.clone(), removed].concat(), &[])?;
                }
                let crossed = workspace.snapshot_kept(&name)?.tree;
                let mut left = workspace.compare_files(&start, &crossed, |path| {
                    from_start.iter().any(|it| it == path)
                })?;
                if let Some(tree) = &plan_start {
                    left.extend(workspace.compare_files(tree, &crossed, |path| {
                        from_plan.iter().any(|it| it == path)
                    })?);
                }
                if let Some(room) = room {
                    room.name_composed(&crossed, committed)?;
                }
                Ok((crossed, left.into_iter().map(|file| file.path).next()))
            };
        let what = "cannot copy the original tests over the work";
        let (crossed, left) = run_blocking(&self.trees.workspace, what, compose).await?;
        if let Some(path) = left {
            let error = format!("{what}: {} differs from its original", path.display());
            return Err(CheckError::Infrastructure(error));
        }
        Ok(crossed)
    }
}

/// The tree that a later subtask of a plan begins from, with the tests of the start of the plan.
pub(crate) async fn compose_base(
    trees: &VerificationTrees,
    test_base: &TreeId,
    steps: &[Step],
    spec: &RunSpec,
    name: String,
) -> Result<TreeId, CheckError> {
    let crossed = CrossedTrees {
        trees,
        test_base: Some(test_base),
        allow: &spec.allow,
        expected: &spec.expect_test_changes,
    };
    let files = crossed.find_files(steps).await?;
    crossed.compose(name, &files).await
}

/// A path as text for classification. A path that is not UTF-8 becomes a name that matches no rule.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
