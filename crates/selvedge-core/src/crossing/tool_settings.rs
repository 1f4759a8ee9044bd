//! Settings of tools that are known by no name: hidden files in the usual forms (`.yamllint`, `.codespellrc`,
//! `.markdownlint.json`), and files that are called after a program that the checks run (`typos.toml`).

use std::collections::BTreeSet;

use super::config_files::side_of_config;
use super::references::{name_of, stem_of};
use super::sides::BaseProject;
use crate::guard::{ChangedFile, Pattern, SourceLanguage, words_of};
use crate::model::Step;

/// Hidden files in the form of settings.
static HIDDEN: Pattern = Pattern::new(
    r"(?i)^\.[\w-]+(?:\.(?:ya?ml|toml|json[c5]?|cfg|ini|conf|hcl|[cm]?js|xml|properties))?$",
);
/// Hidden files that no check reads, or that have rules of their own, and what tools write.
static OTHER_HIDDEN: Pattern = Pattern::new(concat!(
    r"(?i)^\.(?:env(?:\.[\w.-]+)?|git(?:ignore|keep)|rgignore|ignore|dockerignore|npmignore|helmignore|mailmap|keep|htaccess|nojekyll",
    r"|(?:travis|readthedocs|goreleaser)\.ya?ml|all-contributorsrc|coverage|[\w-]*(?:cache|history|_status))$",
));
/// The endings of settings that are not hidden.
static SETTINGS: Pattern =
    Pattern::new(r"(?i)\.(?:ya?ml|toml|json[c5]?|cfg|ini|conf|hcl|xml|properties)$");
/// What tools lock is data of theirs, no settings: `pnpm-lock.yaml`.
static LOCKED: Pattern = Pattern::new(r"(?i)[.-]lock(?:file)?(?:\.|$)");
/// Words of command lines that are no names of tools.
static GENERAL: Pattern = Pattern::new(
    r"(?i)^(?:.{1,3}|tests?|check|lint|build|install|main|app|server|config|settings|data|package|python3?|node|bash|cargo|make|exec|true|false)$",
);

impl<'a> BaseProject<'a> {
    /// Finds the settings of tools among the changed files. What the original sources mention belongs to the product.
    pub(super) fn find_tool_settings(
        &self,
        changes: &'a [ChangedFile<'_>],
        steps: &[Step],
    ) -> BTreeSet<&'a str> {
        let tools = self.tools_of(steps);
        let is_setting = |change: &&ChangedFile<'_>| {
            let name = name_of(change.path);
            let is_hidden = HIDDEN.is_match(name) && !OTHER_HIDDEN.is_match(name);
            (is_hidden || is_named_after(name, &tools)) && !self.is_mentioned(name)
        };
        let settings = changes.iter().filter(is_setting);
        settings.map(|change| change.path).collect()
    }

    /// The words of command lines that may be programs.
    fn tools_of(&self, steps: &[Step]) -> BTreeSet<String> {
        let is_source = |word: &str| {
            let mut sources = self.base.keys();
            sources.any(|path| SourceLanguage::from_path(path).is_some() && stem_of(path) == word)
        };
        let words = words_of(steps).into_iter().map(|word| word.text);
        let names = words.map(|word| name_of(&word).to_lowercase());
        names
            .filter(|word| !word.contains('.') && !GENERAL.is_match(word))
            .filter(|word| !self.has_folder(word) && !is_source(word))
            .collect()
    }

    /// Whether an original source contains the name of the file.
    fn is_mentioned(&self, name: &str) -> bool {
        let is_source = |path: &str| {
            // Scripts and workflows pass settings to tools.
            let language = SourceLanguage::from_path(path);
            language.is_some_and(|it| !matches!(it, SourceLanguage::Shell | SourceLanguage::Yaml))
                && !self.tests.contains(path)
                && !self.is_test_by_name(path)
                && side_of_config(path).is_none()
        };
        let sources = self.base.keys().filter(|path| is_source(path));
        let mut texts = sources.filter_map(|path| self.text(path));
        texts.any(|text| text.contains(name))
    }
}

/// Whether settings are called after a tool: `typos.toml`, `spotbugs-exclude.xml`, `.markdownlint.json` of
/// `markdownlint-cli2`.
fn is_named_after(name: &str, tools: &BTreeSet<String>) -> bool {
    let name = name.to_lowercase();
    let stem = name.trim_start_matches(['.', '_']).split('.').next();
    let stem = stem.unwrap_or_default();
    let begins = |long: &str, short: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    };
    SETTINGS.is_match(&name)
        && !LOCKED.is_match(&name)
        && stem.len() > 3
        && tools
            .iter()
            .any(|tool| begins(stem, tool) || begins(tool, stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_after_tools() {
        let tools = ["typos", "markdownlint-cli2", "pnpm", "renv"];
        let tools = BTreeSet::from(tools.map(str::to_owned));
        for name in [
            "typos.toml",
            "_typos.toml",
            "typos-words.json",
            ".markdownlint.json",
        ] {
            assert!(is_named_after(name, &tools), "{name}");
        }
        for name in [
            "typo.toml",
            "typos.rs",
            "typesetting.toml",
            "typos",
            "mark.json",
            "pnpm-lock.yaml",
            "renv.lock.json",
        ] {
            assert!(!is_named_after(name, &tools), "{name}");
        }
    }
}
