//! The verdict on each file, after all available parsers for its language were run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use futures_util::future::try_join_all;
use selvedge_syntax::{FileLanguage, SyntaxError, reason_to_doubt};
use tokio_util::sync::CancellationToken;

use super::ParserPrograms;
use super::batch::parser_for;
use super::session::ParserContext;
use crate::check_error::CheckError;

/// A file copied for parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its generated name in the folder of the files.
    pub file: String,
    /// Its path in the workspace, as text.
    pub name: String,
    /// Its language.
    pub language: FileLanguage,
}

/// Verdict on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParserVerdict {
    /// It parses.
    Parses,
    /// It does not parse.
    Broken(SyntaxError),
    /// It is rejected, but that may not be a defect of the file; with the reason.
    Unsure(SyntaxError, String),
    /// No parser could be run; with the reason.
    Unknown(String),
}

/// Runs parsers on the files of one folder.
pub struct SyntaxChecker<'a> {
    /// Folder and supervisor of the parsers.
    pub context: &'a ParserContext,
    /// The available parsers.
    pub programs: &'a ParserPrograms,
}

impl SyntaxChecker<'_> {
    /// Returns the verdict on each item, in their order: each parser handles all its files at once,
    /// and all parsers run in parallel. `round` is unique among the checks in one folder.
    ///
    /// # Errors
    ///
    /// [`CheckError`] if it is being stopped, or if nothing can be stored.
    pub async fn check(
        &self,
        items: &[SourceFile],
        round: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<ParserVerdict>, CheckError> {
        let mut by_parser: BTreeMap<Option<FileLanguage>, Vec<(usize, &SourceFile)>> =
            BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            by_parser
                .entry(external_language(item.language))
                .or_default()
                .push((index, item));
        }
        let batches = by_parser
            .into_values()
            .map(|group| self.check_group(group, round, cancel));
        let mut verdicts: Vec<(usize, ParserVerdict)> =
            try_join_all(batches).await?.into_iter().flatten().collect();
        verdicts.sort_by_key(|(index, _)| *index);
        Ok(verdicts.into_iter().map(|(_, verdict)| verdict).collect())
    }

    async fn check_group(
        &self,
        group: Vec<(usize, &SourceFile)>,
        round: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<(usize, ParserVerdict)>, CheckError> {
        let (indices, items): (Vec<usize>, Vec<&SourceFile>) = group.into_iter().unzip();
        let Some(language) = items.first().map(|item| item.language) else {
            return Ok(Vec::new());
        };
        let Some(parser) = parser_for(language, self.programs, self.context) else {
            let unknown = |item: &SourceFile| {
                let why = format!("no parser is available for {}", item.language.name());
                ParserVerdict::Unknown(why)
            };
            return Ok(indices
                .into_iter()
                .zip(items)
                .map(|(index, item)| (index, unknown(item)))
                .collect());
        };
        let name = match external_language(language) {
            None => format!("{round}-own"),
            Some(language) => format!("{round}-{}", language.extension()),
        };
        let first = self
            .context
            .parse_files(&parser, &items, &name, cancel)
            .await?;
        let mut all = Vec::with_capacity(first.len());
        for ((index, item), verdict) in indices.into_iter().zip(items).zip(first) {
            let verdict = self
                .context
                .confirm_fault(self.programs, item, verdict, cancel)
                .await?;
            all.push((index, self.apply_doubt(item, verdict)));
        }
        Ok(all)
    }

    fn apply_doubt(&self, item: &SourceFile, verdict: ParserVerdict) -> ParserVerdict {
        let ParserVerdict::Broken(fault) = verdict else {
            return verdict;
        };
        let bytes = fs::read(self.context.folder.join(&item.file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match reason_to_doubt(item.language, Path::new(&item.name), &text, &fault) {
            Some(why) => ParserVerdict::Unsure(fault, why.to_owned()),
            None => ParserVerdict::Broken(fault),
        }
    }
}

/// The language whose own program is run first; `None` for languages of the built-in parsers.
fn external_language(language: FileLanguage) -> Option<FileLanguage> {
    match language {
        // The program for JavaScript also runs the project's TypeScript.
        FileLanguage::TypeScript | FileLanguage::Tsx => Some(FileLanguage::JavaScript),
        FileLanguage::Python
        | FileLanguage::JavaScript
        | FileLanguage::Go
        | FileLanguage::Shell
        | FileLanguage::Ruby
        | FileLanguage::Php
        | FileLanguage::Java => Some(language),
        _ => None,
    }
}
