//! What is said of each file, after everybody who knows its language was asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use futures_util::future::try_join_all;
use selvedge_syntax::{Fault, Language, doubt};
use tokio_util::sync::CancellationToken;

use super::Found;
use super::batch::parser_of;
use super::session::Bench;
use crate::checks::CheckAborted;

/// A file that was laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name in the folder of the bench: one of ours.
    pub file: String,
    /// Its path in the workspace, as far as that is text.
    pub name: String,
    /// What it is written in.
    pub language: Language,
}

/// What is said of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It parses.
    Parses,
    /// It does not.
    Broken(Fault),
    /// It is refused, but that may be no fault; and why.
    Unsure(Fault, String),
    /// Nobody could be asked; and why.
    Unknown(String),
}

/// Parsers at work on one bench.
pub struct Look<'a> {
    /// Where.
    pub bench: &'a Bench,
    /// Who can be asked.
    pub found: &'a Found,
}

impl Look<'_> {
    /// What is said of each item, in their order: each parser is asked about all its files at once,
    /// and all parsers side by side. `round` is unique among the looks at one bench.
    ///
    /// # Errors
    ///
    /// [`CheckAborted`] when it is being stopped, or nothing can be stored.
    pub async fn at(
        &self,
        items: &[Item],
        round: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Said>, CheckAborted> {
        let mut by_parser: BTreeMap<Option<Language>, Vec<(usize, &Item)>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            by_parser
                .entry(own(item.language))
                .or_default()
                .push((index, item));
        }
        let asked = by_parser
            .into_values()
            .map(|group| self.group(group, round, cancel));
        let mut said: Vec<(usize, Said)> =
            try_join_all(asked).await?.into_iter().flatten().collect();
        said.sort_by_key(|(index, _)| *index);
        Ok(said.into_iter().map(|(_, said)| said).collect())
    }

    async fn group(
        &self,
        group: Vec<(usize, &Item)>,
        round: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<(usize, Said)>, CheckAborted> {
        let (indices, items): (Vec<usize>, Vec<&Item>) = group.into_iter().unzip();
        let Some(language) = items.first().map(|item| item.language) else {
            return Ok(Vec::new());
        };
        let Some(parser) = parser_of(language, self.found, self.bench) else {
            let unknown = Said::Unknown(format!("nothing here parses {}", language.name()));
            return Ok(indices
                .into_iter()
                .map(|index| (index, unknown.clone()))
                .collect());
        };
        let name = match own(language) {
            None => format!("{round}-own"),
            Some(_) => format!("{round}-{}", language.ending()),
        };
        let first = self.bench.ask(&parser, &items, &name, cancel).await?;
        let mut all = Vec::with_capacity(first.len());
        for ((index, item), said) in indices.into_iter().zip(items).zip(first) {
            let said = self
                .bench
                .second_opinion(self.found, item, said, cancel)
                .await?;
            all.push((index, self.doubted(item, said)));
        }
        Ok(all)
    }

    fn doubted(&self, item: &Item, said: Said) -> Said {
        let Said::Broken(fault) = said else {
            return said;
        };
        let bytes = fs::read(self.bench.folder.join(&item.file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match doubt(item.language, Path::new(&item.name), &text, &fault) {
            Some(why) => Said::Unsure(fault, why.to_owned()),
            None => Said::Broken(fault),
        }
    }
}

/// The language whose own program is asked first; none for those of our own parsers.
fn own(language: Language) -> Option<Language> {
    let programs = [
        Language::Python,
        Language::Go,
        Language::Shell,
        Language::Ruby,
        Language::Php,
        Language::Java,
    ];
    programs.contains(&language).then_some(language)
}
