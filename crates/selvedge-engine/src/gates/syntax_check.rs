//! Built-in check of changed files: every changed file parses, and none was emptied.
//!
//! It runs in addition to the plan's checks. It reads the snapshots, never the workspace, which may have changed
//! since. A file that did not parse before the run is not charged, and uncertain results are notes.

mod tally;

use std::path::{Path, PathBuf};
use std::time::Instant;

use selvedge_core::guard::Globs;
use selvedge_core::model::SyntaxRules;
use selvedge_syntax::language_of;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use self::tally::SyntaxCheckTally;
use super::trees::{VerificationTrees, run_blocking};
use crate::check_error::CheckError;
use crate::checks::CheckOutcome;
use crate::process::Supervisor;
use crate::syntax::{ParserContext, ParserPrograms, ParserVerdict, SourceFile, SyntaxChecker};
use crate::workspace::{BlobVersion, FileVersions, Workspace, WorkspaceError};

/// Maximum number of files that are checked; the number of others is reported.
const MAX_FILES: usize = 2_000;
/// Size of the largest file that is parsed.
const MAX_PARSED_BYTES: u64 = 2 << 20;
/// Bytes of a file that are read to detect that it is blank.
const BLANK_CHECK_BYTES: u64 = 64 << 10;

/// Names of files whose existence alone has a meaning, so that they may be empty.
const MAY_BE_EMPTY: [&str; 9] = [
    "__init__.py",
    "py.typed",
    ".gitkeep",
    ".keep",
    ".gitignore",
    ".nojekyll",
    ".npmignore",
    ".gitmodules",
    ".dockerignore",
];
const MAY_BE_EMPTY_ENDINGS: [&str; 3] = ["log", "lock", "pid"];

/// One check of the files that an attempt changed.
pub(super) struct SyntaxCheck<'a> {
    pub(super) trees: &'a VerificationTrees,
    pub(super) rules: &'a SyntaxRules,
    /// The task's description: files that it names may be emptied.
    pub(super) task: &'a str,
    /// Where the files are extracted to during the check.
    pub(super) run_dir: &'a Path,
    pub(super) tag: &'a str,
    pub(super) lock: &'a Path,
    pub(super) supervisor: &'a Supervisor,
    pub(super) deadline: Instant,
}

/// The extracted files.
#[derive(Debug)]
struct ExtractedFiles {
    folder: TempDir,
    /// Files to parse, with their earlier versions.
    items: Vec<(SourceFile, Option<BlobVersion>)>,
    /// Files that had content before and are blank now, with their earlier size in bytes.
    emptied: Vec<(String, u64)>,
    /// Why some files were not checked.
    notes: Vec<String>,
}

impl SyntaxCheck<'_> {
    /// Runs the check; `None` if no changed file could be checked.
    pub(super) async fn run(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Option<CheckOutcome>, CheckError> {
        let began = Instant::now();
        let laid_out = self.extract_files().await?;
        if laid_out.items.is_empty() && laid_out.emptied.is_empty() {
            return Ok(None);
        }
        let workspace = self.trees.tools_root();
        let found = ParserPrograms::find_outside(workspace);
        let bench = ParserContext {
            folder: laid_out.folder.path().to_owned(),
            workspace: workspace.to_owned(),
            tag: format!("{}.syntax", self.tag),
            lock: self.lock.to_owned(),
            supervisor: self.supervisor.clone(),
            deadline: self.deadline,
        };
        let look = SyntaxChecker {
            context: &bench,
            programs: &found,
        };
        let items: Vec<SourceFile> = laid_out
            .items
            .iter()
            .map(|(item, _)| item.clone())
            .collect();
        let verdicts = look.check(&items, "after", cancel).await?;
        let before = self
            .verdicts_before(&look, &laid_out, &verdicts, cancel)
            .await?;
        let finding = SyntaxCheckTally::new(self.task, laid_out, verdicts, &before).into_outcome();
        Ok(Some(CheckOutcome {
            duration: began.elapsed(),
            ..finding
        }))
    }

    async fn extract_files(&self) -> Result<ExtractedFiles, CheckError> {
        let VerificationTrees { judged, start, .. } = self.trees;
        let (judged, start) = (judged.clone(), start.clone());
        let (run_dir, except) = (self.run_dir.to_owned(), self.rules.except.clone());
        let work = move |workspace: &Workspace| {
            // Invalid globs were rejected before the run was created.
            let except = Globs::new(&except).ok();
            let mut versions = workspace.versions(&start, &judged)?;
            versions.retain(|file| {
                let path = file.path.to_string_lossy();
                !except.as_ref().is_some_and(|globs| globs.is_match(&path))
            });
            ExtractedFiles::extract(workspace, &run_dir, versions)
        };
        run_blocking(
            &self.trees.workspace,
            "cannot extract the changed files",
            work,
        )
        .await
    }

    /// Verdicts on the earlier versions of broken files; `None` for files that did not exist.
    async fn verdicts_before(
        &self,
        look: &SyntaxChecker<'_>,
        laid_out: &ExtractedFiles,
        verdicts: &[ParserVerdict],
        cancel: &CancellationToken,
    ) -> Result<Vec<Option<ParserVerdict>>, CheckError> {
        let mut before = vec![None; verdicts.len()];
        let (mut indices, mut items, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for (index, ((item, version), verdict)) in laid_out.items.iter().zip(verdicts).enumerate() {
            if let (ParserVerdict::Broken(_), Some(version)) = (verdict, version) {
                let file = format!("before-{}", item.file);
                wanted.push((*version, look.context.folder.join(&file)));
                items.push(SourceFile {
                    file,
                    ..item.clone()
                });
                indices.push(index);
            }
        }
        if items.is_empty() {
            return Ok(before);
        }
        let write = move |workspace: &Workspace| workspace.extract(wanted, MAX_PARSED_BYTES);
        run_blocking(
            &self.trees.workspace,
            "cannot extract the files before the attempt",
            write,
        )
        .await?;
        let verdicts = look.check(&items, "before", cancel).await?;
        for ((index, item), verdict) in indices.into_iter().zip(items).zip(verdicts) {
            let blank = is_blank(&look.context.folder.join(item.file));
            if let Some(place) = before.get_mut(index).filter(|_| !blank) {
                *place = Some(verdict);
            }
        }
        Ok(before)
    }
}

impl ExtractedFiles {
    fn extract(
        workspace: &Workspace,
        run_dir: &Path,
        versions: Vec<FileVersions>,
    ) -> Result<Self, WorkspaceError> {
        let folder = tempfile::tempdir_in(run_dir)
            .map_err(|error| WorkspaceError::io("create a folder in", run_dir, error))?;
        let looked_at: Vec<(FileVersions, BlobVersion, String)> = versions
            .into_iter()
            .filter(|it| it.before.is_some() || may_be_parsable(&it.path))
            .enumerate()
            .filter_map(|(index, it)| {
                let language = language_of(&it.path, b"<");
                let ending = language.map_or("txt", selvedge_syntax::FileLanguage::extension);
                Some((it.after?, it, format!("{index}.{ending}")))
            })
            .map(|(after, it, file)| (it, after, file))
            .collect();
        let more = looked_at.len().saturating_sub(MAX_FILES);
        let taken = looked_at.iter().take(MAX_FILES);
        let wanted = taken.map(|(_, after, file)| (*after, folder.path().join(file)));
        let sizes = workspace.extract(wanted, MAX_PARSED_BYTES)?;
        let mut laid_out = Self {
            folder,
            items: Vec::new(),
            emptied: Vec::new(),
            notes: Vec::new(),
        };
        if more > 0 {
            laid_out
                .notes
                .push(format!("{more} more changed files were not checked"));
        }
        for ((file, _, name), size) in looked_at.into_iter().zip(sizes) {
            laid_out.add_file(workspace, &file, name, size)?;
        }
        Ok(laid_out)
    }

    fn add_file(
        &mut self,
        workspace: &Workspace,
        versions: &FileVersions,
        file: String,
        size: u64,
    ) -> Result<(), WorkspaceError> {
        let name = versions.path.to_string_lossy().into_owned();
        let place = self.folder.path().join(&file);
        if size <= BLANK_CHECK_BYTES && is_blank(&place) {
            if let Some(before) = versions.before.filter(|_| !may_be_empty(&versions.path)) {
                let was = place.with_extension("was");
                let sizes = workspace.extract([(before, was.clone())], MAX_PARSED_BYTES)?;
                let size = sizes.first().copied().unwrap_or_default();
                if size > MAX_PARSED_BYTES || !is_blank(&was) {
                    self.emptied.push((name, size));
                }
            }
            return Ok(());
        }
        let head = read_head(&place);
        let Some(language) = language_of(&versions.path, &head) else {
            return Ok(());
        };
        if size > MAX_PARSED_BYTES {
            self.notes
                .push(format!("{name}: not checked: {size} bytes are too many"));
        } else {
            self.items.push((
                SourceFile {
                    file,
                    name,
                    language,
                },
                versions.before,
            ));
        }
        Ok(())
    }
}

/// Whether a new file is worth reading: its name has the extension of a language, or no extension, so that its first
/// line may identify the language.
fn may_be_parsable(path: &Path) -> bool {
    path.extension().is_none() || language_of(path, b"<").is_some()
}

fn may_be_empty(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    MAY_BE_EMPTY.contains(&&*name) || MAY_BE_EMPTY_ENDINGS.contains(&&*ending)
}

fn is_blank(file: &PathBuf) -> bool {
    std::fs::read(file).is_ok_and(|bytes| bytes.trim_ascii().is_empty())
}

fn read_head(file: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut head = Vec::new();
    if let Ok(file) = std::fs::File::open(file) {
        // A file that cannot be read has no first line.
        let _ = file.take(512).read_to_end(&mut head);
    }
    head
}
