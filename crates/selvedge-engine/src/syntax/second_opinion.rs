//! Confirms an error of a parser crate with the language's own program, whose verdict is final.

use std::ffi::OsString;
use std::path::Path;

use selvedge_syntax::{FileLanguage, SyntaxError};
use tokio_util::sync::CancellationToken;

use super::session::{ParserContext, ParserRun};
use super::{ParserPrograms, ParserVerdict, SourceFile, answer};
use crate::check_error::CheckError;

/// Newest first: each has keywords that an older file may use as names.
const EDITIONS: [&str; 4] = ["2024", "2021", "2018", "2015"];

impl ParserContext {
    /// Returns the final verdict on a rejected file.
    pub(super) async fn confirm_fault(
        &self,
        found: &ParserPrograms,
        item: &SourceFile,
        verdict: ParserVerdict,
        cancel: &CancellationToken,
    ) -> Result<ParserVerdict, CheckError> {
        let ParserVerdict::Broken(fault) = verdict else {
            return Ok(verdict);
        };
        let file = self.folder.join(&item.file);
        let name = format!("second-{}", item.file.replace(['/', '.'], "-"));
        let accepts = match item.language {
            FileLanguage::Rust => match &found.rustfmt {
                None => None,
                // Its message and position are better than those of the crate.
                Some(rustfmt) => match self
                    .check_with_rustfmt(rustfmt, &file, &name, cancel)
                    .await?
                {
                    Some(ParserVerdict::Broken(fault)) => return Ok(ParserVerdict::Broken(fault)),
                    verdict => verdict.map(|verdict| verdict == ParserVerdict::Parses),
                },
            },
            FileLanguage::C | FileLanguage::Cpp => match &found.cc {
                None => None,
                Some(cc) => Some(self.is_compilable(cc, item, &name, cancel).await?),
            },
            _ => Some(false),
        };
        Ok(match accepts {
            Some(true) => ParserVerdict::Parses,
            Some(false) => ParserVerdict::Broken(fault),
            None => ParserVerdict::Unsure(fault, "no second parser is available".to_owned()),
        })
    }

    /// Whether rustfmt can parse the file, in any edition; `None` if rustfmt cannot be run. It gets
    /// only the content, so that it searches for no modules, and no settings but ours.
    async fn check_with_rustfmt(
        &self,
        rustfmt: &Path,
        file: &Path,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ParserVerdict>, CheckError> {
        let settings = self.folder.join("rustfmt.toml");
        let written = std::fs::write(&settings, "");
        written.map_err(|error| CheckError::Infrastructure(error.to_string()))?;
        let mut refused = None;
        for edition in EDITIONS {
            let args = ["--edition", edition, "--config-path"].map(OsString::from);
            let argv = [OsString::from(rustfmt)].into_iter().chain(args);
            let run = ParserRun {
                name: format!("{name}-{edition}"),
                argv: argv.chain([settings.clone().into()]).collect(),
                input: Some(file),
                has_user_folders: true,
            };
            let output = self.run(run, cancel).await?;
            if output.code == Some(0) {
                return Ok(Some(ParserVerdict::Parses));
            }
            if output.code == Some(1) && refused.is_none() {
                refused = parse_rustfmt_error(&output.stderr);
            }
        }
        Ok(refused.map(ParserVerdict::Broken))
    }

    async fn is_compilable(
        &self,
        cc: &Path,
        item: &SourceFile,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, CheckError> {
        for language in ["c", "c++"] {
            let args = ["-fsyntax-only", "-w", "-x", language, &item.file].map(OsString::from);
            let run = ParserRun {
                name: format!("{name}-{}", language.len()),
                argv: [OsString::from(cc)].into_iter().chain(args).collect(),
                input: None,
                has_user_folders: false,
            };
            if self.run(run, cancel).await?.code == Some(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The first error that rustfmt reports for its standard input: `error: WHAT`, then the position.
fn parse_rustfmt_error(stderr: &str) -> Option<SyntaxError> {
    let (before, after) = stderr.split_once("--> <stdin>:")?;
    let message = before
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error"))?;
    let message = message
        .split_once(": ")
        .map_or(message, |(_, message)| message);
    let place = after.lines().next()?;
    let (line, column) = place.split_once(':')?;
    Some(SyntaxError {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok(),
        message: answer::sanitize(message),
    })
}
