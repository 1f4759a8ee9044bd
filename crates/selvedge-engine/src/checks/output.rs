//! `output`: something that the task expects is there, of the kind that its name tells, and worth
//! something: a directory (its name ends with `/`) or a file, not empty, and parsing where its name
//! says in what language it is.

use std::fs;
use std::path::Path;
use std::time::Instant;

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use selvedge_digest::Analysis;
use selvedge_syntax::language_of;
use tokio_util::sync::CancellationToken;

use super::paths::resolve_inside;
use super::{Check, CheckContext, CheckError, CheckOutcome};
use crate::syntax::{
    ParserContext, ParserPrograms, ParserVerdict, SourceFile, SyntaxChecker, parse_failure,
};

/// The largest file that is parsed.
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
        scene: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let target = &self.target;
        let path = match resolve_inside(&scene.workspace, target.trim_end_matches('/')) {
            Ok(path) => path,
            Err(outside) => return Ok(CheckOutcome::fail(outside.to_string())),
        };
        let wants_folder = target.ends_with('/');
        Ok(match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                CheckOutcome::fail(format!("`{target}` does not exist"))
            }
            Err(error) => CheckOutcome::error(format!("cannot look at `{target}`: {error}")),
            Ok(found) if found.is_dir() && !wants_folder => {
                CheckOutcome::fail(format!("`{target}` is a directory, not a file"))
            }
            Ok(found) if found.is_dir() => match fs::read_dir(&path).map(|mut it| it.next()) {
                Ok(None) => CheckOutcome::fail(format!("`{target}` is empty")),
                Ok(Some(_)) => CheckOutcome::pass(),
                Err(error) => CheckOutcome::error(format!("cannot look at `{target}`: {error}")),
            },
            Ok(_) if wants_folder => {
                CheckOutcome::fail(format!("`{target}` is a file, not a directory"))
            }
            Ok(found) if !found.is_file() => {
                CheckOutcome::fail(format!("`{target}` is no plain file"))
            }
            Ok(found) if found.len() == 0 => CheckOutcome::fail(format!("`{target}` is empty")),
            Ok(found) if found.len() > MAX_FILE_BYTES => CheckOutcome::pass(),
            Ok(_) => return self.parse(&path, scene, cancel).await,
        })
    }

    async fn parse(
        &self,
        path: &Path,
        scene: &CheckContext,
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
        let stored = |error: std::io::Error| CheckError::Infrastructure(error.to_string());
        let folder = tempfile::tempdir_in(&scene.run_dir).map_err(stored)?;
        let file = format!("0.{}", language.extension());
        fs::write(folder.path().join(&file), &bytes).map_err(stored)?;
        let item = SourceFile {
            file,
            name: self.target.clone(),
            language,
        };
        let bench = ParserContext {
            folder: folder.path().to_owned(),
            tag: scene.tag.clone(),
            lock: scene.lock.clone(),
            supervisor: scene.supervisor.clone(),
            deadline: Instant::now() + scene.limit,
        };
        let found = ParserPrograms::find_outside(&scene.workspace);
        let look = SyntaxChecker {
            context: &bench,
            programs: &found,
        };
        let said = look.check(&[item], "output", cancel).await?.pop();
        Ok(match said {
            Some(ParserVerdict::Broken(fault)) => {
                let text = String::from_utf8_lossy(&bytes);
                let failure = parse_failure(&self.target, Some(&fault), &text);
                let reason = format!("`{}` is no {}", self.target, language.name());
                CheckOutcome {
                    output: format!("{}:{}: {}", self.target, fault.line, fault.message),
                    analysis: Some(Analysis::from_failures(vec![failure])),
                    ..CheckOutcome::fail(reason)
                }
            }
            Some(ParserVerdict::Unsure(fault, why)) => CheckOutcome {
                output: format!("line {}: {} (no failure: {why})", fault.line, fault.message),
                ..CheckOutcome::pass()
            },
            Some(ParserVerdict::Parses | ParserVerdict::Unknown(_)) | None => CheckOutcome::pass(),
        })
    }
}

impl Check for ExpectedOutputCheck {
    fn run<'a>(
        &'a self,
        scene: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(scene, cancel))
    }
}

/// What no plan can ask for: looked at beside its steps.
pub(super) struct UnsupportedStep;

impl Check for UnsupportedStep {
    fn run<'a>(
        &'a self,
        _: &'a CheckContext,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(async {
            Ok(CheckOutcome::error(
                "it is looked at of its own accord, and is no step",
            ))
        })
    }
}
