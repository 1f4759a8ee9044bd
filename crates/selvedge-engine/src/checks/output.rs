//! `output`: a result that the task expects exists: a directory (its name ends with `/`) or a file, neither of them
//! empty. A file must parse if its name shows its language.

use std::fs;
use std::path::Path;
use std::time::Instant;

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use selvedge_digest::Analysis;
use selvedge_syntax::language_of;
use tokio_util::sync::CancellationToken;

use super::paths::resolve_inside;
use super::{Check, CheckContext, CheckOutcome};
use crate::check_error::CheckError;
use crate::syntax::{
    ParserContext, ParserPrograms, ParserVerdict, SourceFile, SyntaxChecker, parse_failure,
};

/// Largest file that is parsed, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 20;

pub(super) struct ExpectedOutputCheck {
    target: String,
}

impl ExpectedOutputCheck {
    pub(super) fn new(step: &Step) -> Self {
        let target = step.target.clone();
        Self { target }
    }

    async fn run_check(
        &self,
        context: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let target = &self.target;
        let path = match resolve_inside(&context.workspace, target.trim_end_matches('/')) {
            Ok(path) => path,
            Err(outside) => return Ok(CheckOutcome::fail(outside.to_string())),
        };
        let is_folder_expected = target.ends_with('/');
        Ok(match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                CheckOutcome::fail(format!("`{target}` does not exist"))
            }
            Err(error) => CheckOutcome::error(format!("cannot access `{target}`: {error}")),
            Ok(metadata) if metadata.is_dir() && !is_folder_expected => {
                CheckOutcome::fail(format!("`{target}` is a directory, not a file"))
            }
            Ok(metadata) if metadata.is_dir() => {
                match fs::read_dir(&path).map(|mut it| it.next()) {
                    Ok(None) => CheckOutcome::fail(format!("`{target}` is empty")),
                    Ok(Some(_)) => CheckOutcome::pass(),
                    Err(error) => CheckOutcome::error(format!("cannot access `{target}`: {error}")),
                }
            }
            Ok(_) if is_folder_expected => {
                CheckOutcome::fail(format!("`{target}` is a file, not a directory"))
            }
            Ok(metadata) if !metadata.is_file() => {
                CheckOutcome::fail(format!("`{target}` is not a regular file"))
            }
            Ok(metadata) if metadata.len() == 0 => {
                CheckOutcome::fail(format!("`{target}` is empty"))
            }
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => CheckOutcome::pass(),
            Ok(_) => return self.parse(&path, context, cancel).await,
        })
    }

    async fn parse(
        &self,
        path: &Path,
        context: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let bytes = match fs::read(path) {
            Ok(bytes) if bytes.trim_ascii().is_empty() => {
                return Ok(CheckOutcome::fail(format!("`{}` is blank", self.target)));
            }
            Ok(bytes) => bytes,
            Err(error) => {
                return Ok(CheckOutcome::error(format!(
                    "cannot read `{}`: {error}",
                    self.target
                )));
            }
        };
        let head = bytes.get(..512).unwrap_or(&bytes);
        let Some(language) = language_of(Path::new(&self.target), head) else {
            return Ok(CheckOutcome::pass());
        };
        let to_error = |error: std::io::Error| CheckError::Infrastructure(error.to_string());
        let folder = tempfile::tempdir_in(&context.run_dir).map_err(to_error)?;
        let file = format!("0.{}", language.extension());
        fs::write(folder.path().join(&file), &bytes).map_err(to_error)?;
        let item = SourceFile {
            file,
            name: self.target.clone(),
            language,
        };
        let parser_context = ParserContext {
            folder: folder.path().to_owned(),
            workspace: context.workspace.clone(),
            tag: context.tag.clone(),
            lock: context.lock.clone(),
            supervisor: context.supervisor.clone(),
            deadline: Instant::now() + context.limit,
        };
        let parser_programs = ParserPrograms::find_outside(&context.workspace);
        let checker = SyntaxChecker {
            context: &parser_context,
            programs: &parser_programs,
        };
        let verdict = checker.check(&[item], "output", cancel).await?.pop();
        Ok(match verdict {
            Some(ParserVerdict::Broken(fault)) => {
                let text = String::from_utf8_lossy(&bytes);
                let failure = parse_failure(&self.target, Some(&fault), &text);
                let reason = format!("`{}` is not valid {}", self.target, language.name());
                CheckOutcome {
                    output: format!("{}:{}: {}", self.target, fault.line, fault.message),
                    analysis: Some(Analysis::from_failures(vec![failure])),
                    ..CheckOutcome::fail(reason)
                }
            }
            Some(ParserVerdict::Unsure(fault, why)) => CheckOutcome {
                output: format!(
                    "line {}: {} (not counted as a failure: {why})",
                    fault.line, fault.message
                ),
                ..CheckOutcome::pass()
            },
            Some(ParserVerdict::Parses | ParserVerdict::Unknown(_)) | None => CheckOutcome::pass(),
        })
    }
}

impl Check for ExpectedOutputCheck {
    fn run<'a>(
        &'a self,
        context: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(context, cancel))
    }
}

/// Rejects step kinds that a plan cannot contain, because these checks run automatically.
pub(super) struct UnsupportedStep;

impl Check for UnsupportedStep {
    fn run<'a>(
        &'a self,
        _: &'a CheckContext,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(async {
            Ok(CheckOutcome::error(
                "it runs automatically and cannot be a step",
            ))
        })
    }
}
