//! Writes the attestation of a command. It is about the tree that was judged, or it is not written.

use std::path::{Path, PathBuf};

use selvedge_core::model::{Report, exit_code};
use selvedge_core::run::Run;

use super::report_args::ReportArgs;
use super::reports::{ReportTarget, write_target};
use crate::attest::{
    PrivateKey, Statement, Subject, compute_subject, encode_attestation, run_statement,
    verification_statement,
};
use crate::error::CliError;
use crate::local::StateDir;
use crate::terminal::style;

/// Limit for the file names in an error about a changed workspace.
const MAX_NAMED_FILES: usize = 5;

/// Where the attestation is written, the key that signs it, and the files that it cannot cover.
#[derive(Default)]
pub(crate) struct AttestationWriter {
    target_and_key: Option<(ReportTarget, Option<PrivateKey>)>,
    /// Absolute paths of all files that the command writes.
    written_files: Vec<PathBuf>,
}

impl std::fmt::Debug for AttestationWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attestation").finish_non_exhaustive()
    }
}

impl AttestationWriter {
    /// Prepares an attestation. `target` is where it is written, `files` lists everything that the command writes.
    pub(super) fn prepare(
        args: &ReportArgs,
        target: Option<ReportTarget>,
        files: &[&Path],
    ) -> Result<Self, CliError> {
        let Some(target) = target else {
            return Ok(Self::default());
        };
        let key = args
            .attest_key
            .as_deref()
            .map(load_private_key)
            .transpose()?;
        let absolute = |path: &&Path| {
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(folder.join(path.file_name()?))
        };
        Ok(Self {
            target_and_key: Some((target, key)),
            written_files: files.iter().filter_map(absolute).collect(),
        })
    }

    /// Rejects a run that keeps no trees.
    pub(crate) fn ensure_trees_kept(&self, snapshots: bool) -> Result<(), CliError> {
        if self.target_and_key.is_none() || snapshots {
            return Ok(());
        }
        Err(CliError::usage(
            "--attest needs snapshots, which this run does not take",
        )
        .hint("snapshots need a git repository (`git init`) and must not be disabled in the settings"))
    }

    /// Rejects a plan: its verdicts are about several successive trees.
    pub(crate) fn ensure_not_plan(&self) -> Result<(), CliError> {
        if self.target_and_key.is_none() {
            return Ok(());
        }
        Err(
            CliError::usage("--attest does not support plans: no verdict covers the final tree")
                .hint("verify and attest the final tree afterwards: selvedge verify --attest FILE"),
        )
    }

    /// Computes the subject of a verification before it begins; `None` without `--attest`.
    pub(crate) fn subject_before(
        &self,
        home: &StateDir,
        dir: &Path,
    ) -> Result<Option<Subject>, CliError> {
        if self.target_and_key.is_none() {
            return Ok(None);
        }
        let workspace = home.open_workspace(dir).map_err(CliError::usage)?;
        let failed = |error| CliError::usage(format!("--attest: {error}"));
        compute_subject(&workspace, &self.excluded_paths(dir))
            .map(Some)
            .map_err(failed)
    }

    /// Attests a verification of the files as they were before it began.
    pub(crate) fn write_for_verification(
        &self,
        code: u8,
        report: &Report,
        judged: Option<Subject>,
        home: &StateDir,
        dir: &Path,
    ) -> u8 {
        let Some(judged) = judged else { return code };
        if self.subject_before(home, dir).ok().flatten().as_ref() != Some(&judged) {
            let message =
                "the checks changed the tree: the attestation covers the tree before the checks";
            errln!("{} {message}", style::warning("note:"));
        }
        self.write_statement(
            code,
            Ok(verification_statement(
                report,
                judged,
                self.excluded_paths(dir),
            )),
        )
    }

    /// Attests a run, if its workspace still contains what the run left.
    pub(crate) fn write_for_run(&self, code: u8, run: &Run, home: &StateDir) -> u8 {
        if self.target_and_key.is_none() {
            return code;
        }
        self.write_statement(code, self.build_statement(run, home))
    }

    fn build_statement(&self, run: &Run, home: &StateDir) -> Result<Statement, CliError> {
        let dir = &run.spec.workspace;
        let workspace = home.open_workspace(dir).map_err(CliError::usage)?;
        let Some(tree) = &run.current_tree else {
            return Err(CliError::usage("no snapshot of this run is stored"));
        };
        let now = workspace
            .snapshot("an attestation")
            .map_err(CliError::infrastructure)?;
        if now.tree != *tree {
            let changed = workspace.changed_files(tree, &now.tree);
            let changed = changed
                .unwrap_or_default()
                .into_iter()
                .take(MAX_NAMED_FILES);
            let changed: Vec<String> = changed.map(|it| it.path.display().to_string()).collect();
            let changed = changed.join(", ");
            return Err(CliError::usage(format!(
                "the workspace was changed after the run ({changed})"
            ))
            .hint("restore it with `selvedge restore`"));
        }
        let not_covered = self.excluded_paths(dir);
        let subject =
            compute_subject(&workspace, &not_covered).map_err(CliError::infrastructure)?;
        Ok(run_statement(run, subject, not_covered))
    }

    /// Files in the workspace that this command writes.
    fn excluded_paths(&self, dir: &Path) -> Vec<String> {
        let below = |path: &PathBuf| Some(path.strip_prefix(dir).ok()?.to_str()?.to_owned());
        let mut paths: Vec<String> = self.written_files.iter().filter_map(below).collect();
        paths.sort();
        paths
    }

    fn write_statement(&self, code: u8, statement: Result<Statement, CliError>) -> u8 {
        let Some((target, key)) = &self.target_and_key else {
            return code;
        };
        let written = statement.and_then(|statement| {
            let file =
                encode_attestation(&statement, key.as_ref()).map_err(CliError::infrastructure)?;
            write_target(target, &file).map_err(|error| {
                CliError::infrastructure(format!("--attest: cannot write {error}"))
            })
        });
        match written {
            Ok(()) => code,
            Err(error) => {
                error
                    .hint("no attestation was written; the verdict is unaffected")
                    .print();
                if code == exit_code::VERIFIED {
                    exit_code::INFRASTRUCTURE
                } else {
                    code
                }
            }
        }
    }
}

fn load_private_key(path: &Path) -> Result<PrivateKey, CliError> {
    let failed = |why: &dyn std::fmt::Display| {
        CliError::usage(format!("--attest-key {}: {why}", path.display()))
    };
    let pem = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    PrivateKey::from_pem(&pem).map_err(|error| failed(&error))
}
