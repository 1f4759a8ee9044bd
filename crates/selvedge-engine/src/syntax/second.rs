//! The second opinion on what a parser crate refuses: the language's own program, which decides.

use std::ffi::OsString;
use std::path::Path;

use selvedge_syntax::{Fault, Language};
use tokio_util::sync::CancellationToken;

use super::batch::{Parser, with_script};
use super::session::{Bench, Run};
use super::{Found, Item, Said, answer, scripts};
use crate::checks::CheckAborted;

/// Newest first: each knows words that an older file may use as names.
const EDITIONS: [&str; 4] = ["2024", "2021", "2018", "2015"];

impl Bench {
    /// What is left of a refusal.
    pub(super) async fn second_opinion(
        &self,
        found: &Found,
        item: &Item,
        said: Said,
        cancel: &CancellationToken,
    ) -> Result<Said, CheckAborted> {
        let Said::Broken(fault) = said else {
            return Ok(said);
        };
        let file = self.folder.join(&item.file);
        let name = format!("second-{}", item.file.replace(['/', '.'], "-"));
        let accepts = match item.language {
            Language::JavaScript => match &found.node {
                None => Some(false),
                Some(node) => {
                    let argv = with_script(node, scripts::NODE);
                    let parser = Parser::Asked {
                        argv,
                        line: |item| item.file.clone(),
                    };
                    let said = self.ask(&parser, &[item], &name, cancel).await?;
                    Some(said.contains(&Said::Parses))
                }
            },
            Language::Rust => match &found.rustfmt {
                None => None,
                // Its own word for it, and its own place, are better than those of the crate.
                Some(rustfmt) => match self.rustfmt(rustfmt, &file, &name, cancel).await? {
                    Some(Said::Broken(fault)) => return Ok(Said::Broken(fault)),
                    said => said.map(|said| said == Said::Parses),
                },
            },
            Language::C | Language::Cpp => match &found.cc {
                None => None,
                Some(cc) => Some(self.compiles(cc, item, &name, cancel).await?),
            },
            _ => Some(false),
        };
        Ok(match accepts {
            Some(true) => Said::Parses,
            Some(false) => Said::Broken(fault),
            None => Said::Unsure(
                fault,
                "nothing here could be asked a second time".to_owned(),
            ),
        })
    }

    /// Whether rustfmt can read it, in any edition; none where it cannot be asked. It is given the
    /// bytes alone, so that it looks for no modules, and no settings but our own.
    async fn rustfmt(
        &self,
        rustfmt: &Path,
        file: &Path,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Said>, CheckAborted> {
        let settings = self.folder.join("rustfmt.toml");
        let written = std::fs::write(&settings, "");
        written.map_err(|error| CheckAborted::Infrastructure(error.to_string()))?;
        let mut refused = None;
        for edition in EDITIONS {
            let args = ["--edition", edition, "--config-path"].map(OsString::from);
            let argv = [OsString::from(rustfmt)].into_iter().chain(args);
            let run = Run {
                name: format!("{name}-{edition}"),
                argv: argv.chain([settings.clone().into()]).collect(),
                input: Some(file),
                at_home: true,
            };
            let output = self.run(run, cancel).await?;
            if output.code == Some(0) {
                return Ok(Some(Said::Parses));
            }
            if output.code == Some(1) && refused.is_none() {
                refused = complaint(&output.stderr);
            }
        }
        Ok(refused.map(Said::Broken))
    }

    async fn compiles(
        &self,
        cc: &Path,
        item: &Item,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, CheckAborted> {
        for language in ["c", "c++"] {
            let args = ["-fsyntax-only", "-w", "-x", language, &item.file].map(OsString::from);
            let run = Run {
                name: format!("{name}-{}", language.len()),
                argv: [OsString::from(cc)].into_iter().chain(args).collect(),
                input: None,
                at_home: false,
            };
            if self.run(run, cancel).await?.code == Some(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The first error that rustfmt tells of its standard input: `error: WHAT`, then its place.
fn complaint(stderr: &str) -> Option<Fault> {
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
    Some(Fault {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok(),
        message: answer::plain(message),
    })
}
