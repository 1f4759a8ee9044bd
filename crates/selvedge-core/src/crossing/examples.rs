//! Documents whose examples are run as tests: by pytest's option `--doctest-glob`, and by rustdoc, if a source includes
//! them.

use std::collections::BTreeSet;

use super::references::{folder_of, join, name_of};
use super::sides::BaseProject;
use crate::guard::{Globs, Pattern, SourceLanguage};
use crate::model::Step;

/// The file whose text is the documentation of an item.
static INCLUDED: Pattern = Pattern::new(r#"\bdoc\s*=\s*include_str!\(\s*"([^"]+)"\s*\)"#);
/// The glob of an option, on a command line, in a setting or in a list of words.
static GLOB: Pattern =
    Pattern::new(r#"--doctest-glob(?:=|[ \t]+|["'][ \t]*,[ \t]*)["']?([^\s"',\]]+)"#);
/// Settings that contain options of pytest.
const SETTINGS: [&str; 5] = [
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
];

impl<'a> BaseProject<'a> {
    /// Finds the documents that are run as tests in the base.
    pub(super) fn find_examples(&self, steps: &[&Step]) -> BTreeSet<&'a str> {
        let sources = self
            .base
            .keys()
            .filter(|path| SourceLanguage::from_path(path) == Some(SourceLanguage::Rust));
        let included = sources.flat_map(|path| {
            let text = self.text(path).unwrap_or_default();
            captures(&INCLUDED, text).filter_map(|document| join(folder_of(path), document))
        });
        let included: BTreeSet<String> = included.collect();
        let settings = self
            .base
            .keys()
            .filter(|path| SETTINGS.contains(&name_of(path)))
            .filter_map(|path| self.text(path));
        let commands = steps.iter().map(|step| step.target.as_str());
        let globs = settings
            .chain(commands)
            .flat_map(|text| captures(&GLOB, text));
        let globs: Vec<String> = globs.map(str::to_owned).collect();
        let globs = Globs::new(&globs).ok();
        let is_example = |path: &str| {
            SourceLanguage::from_path(path).is_none()
                && (included.contains(path)
                    || globs.as_ref().is_some_and(|globs| globs.is_match(path)))
        };
        let paths = self.base.keys().map(String::as_str);
        paths.filter(|path| is_example(path)).collect()
    }
}

/// The first group of each match.
fn captures<'t>(pattern: &'static Pattern, text: &'t str) -> impl Iterator<Item = &'t str> {
    let regex = pattern.regex().into_iter();
    let found = regex.flat_map(move |regex| regex.captures_iter(text));
    found.filter_map(|found| Some(found.get(1)?.as_str()))
}
