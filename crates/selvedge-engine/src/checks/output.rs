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

use super::place::inside;
use super::{Check, CheckAborted, Finding, Scene};
use crate::syntax::{Bench, Found, Item, Look, Said, does_not_parse};

/// The largest file that is parsed.
const BYTES: u64 = 2 << 20;

pub(super) struct ExpectedOutput {
    target: String,
}

impl ExpectedOutput {
    pub(super) fn new(step: &Step) -> Self {
        let target = step.target.clone();
        Self { target }
    }

    async fn look(
        &self,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Result<Finding, CheckAborted> {
        let target = &self.target;
        let path = match inside(&scene.workspace, target.trim_end_matches('/')) {
            Ok(path) => path,
            Err(outside) => return Ok(Finding::fail(outside.to_string())),
        };
        let wants_folder = target.ends_with('/');
        Ok(match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Finding::fail(format!("`{target}` does not exist"))
            }
            Err(error) => Finding::error(format!("cannot look at `{target}`: {error}")),
            Ok(found) if found.is_dir() && !wants_folder => {
                Finding::fail(format!("`{target}` is a directory, not a file"))
            }
            Ok(found) if found.is_dir() => match fs::read_dir(&path).map(|mut it| it.next()) {
                Ok(None) => Finding::fail(format!("`{target}` is empty")),
                Ok(Some(_)) => Finding::pass(),
                Err(error) => Finding::error(format!("cannot look at `{target}`: {error}")),
            },
            Ok(_) if wants_folder => {
                Finding::fail(format!("`{target}` is a file, not a directory"))
            }
            Ok(found) if !found.is_file() => Finding::fail(format!("`{target}` is no plain file")),
            Ok(found) if found.len() == 0 => Finding::fail(format!("`{target}` is empty")),
            Ok(found) if found.len() > BYTES => Finding::pass(),
            Ok(_) => return self.parse(&path, scene, cancel).await,
        })
    }

    async fn parse(
        &self,
        path: &Path,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Result<Finding, CheckAborted> {
        let bytes = match fs::read(path) {
            Ok(bytes) if bytes.trim_ascii().is_empty() => {
                return Ok(Finding::fail(format!("`{}` is blank", self.target)));
            }
            Ok(bytes) => bytes,
            Err(error) => {
                return Ok(Finding::error(format!(
                    "cannot read `{}`: {error}",
                    self.target
                )));
            }
        };
        let head = bytes.get(..512).unwrap_or(&bytes);
        let Some(language) = language_of(Path::new(&self.target), head) else {
            return Ok(Finding::pass());
        };
        let stored = |error: std::io::Error| CheckAborted::Infrastructure(error.to_string());
        let folder = tempfile::tempdir_in(&scene.run_dir).map_err(stored)?;
        let file = format!("0.{}", language.ending());
        fs::write(folder.path().join(&file), &bytes).map_err(stored)?;
        let item = Item {
            file,
            name: self.target.clone(),
            language,
        };
        let bench = Bench {
            folder: folder.path().to_owned(),
            tag: scene.tag.clone(),
            lock: scene.lock.clone(),
            supervisor: scene.supervisor.clone(),
            deadline: Instant::now() + scene.limit,
        };
        let found = Found::outside(&scene.workspace);
        let look = Look {
            bench: &bench,
            found: &found,
        };
        let said = look.at(&[item], "output", cancel).await?.pop();
        Ok(match said {
            Some(Said::Broken(fault)) => {
                let text = String::from_utf8_lossy(&bytes);
                let failure = does_not_parse(&self.target, Some(&fault), &text);
                let reason = format!("`{}` is no {}", self.target, language.name());
                Finding {
                    output: format!("{}:{}: {}", self.target, fault.line, fault.message),
                    analysis: Some(Analysis::of_failures(vec![failure])),
                    ..Finding::fail(reason)
                }
            }
            Some(Said::Unsure(fault, why)) => Finding {
                output: format!("line {}: {} (no failure: {why})", fault.line, fault.message),
                ..Finding::pass()
            },
            Some(Said::Parses | Said::Unknown(_)) | None => Finding::pass(),
        })
    }
}

impl Check for ExpectedOutput {
    fn run<'a>(
        &'a self,
        scene: &'a Scene,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(self.look(scene, cancel))
    }
}

/// What no plan can ask for: looked at beside its steps.
pub(super) struct NoStep;

impl Check for NoStep {
    fn run<'a>(
        &'a self,
        _: &'a Scene,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(async {
            Ok(Finding::error(
                "it is looked at of its own accord, and is no step",
            ))
        })
    }
}
