//! Which comparison a kind of file gets.

use super::super::ChangedFile;
use super::super::builtin::Kind;
use super::super::finding::Strength;
use super::settings::{self, Settings};
use super::{build, code, conftest, ini, json, recipes, relevance, steps, toml};

/// One difference that decides how checks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Switch {
    /// In the file as it is now.
    pub(super) line: Option<u32>,
    /// What was done, in a few words.
    pub(super) what: String,
    /// An offence weakens or redirects the checks; the others are merely worth a look.
    pub(super) strength: Strength,
}

impl Switch {
    pub(super) fn offence(what: impl Into<String>) -> Self {
        Self::new(Strength::Offence, what)
    }

    pub(super) fn note(what: impl Into<String>) -> Self {
        Self::new(Strength::Weak, what)
    }

    pub(super) fn new(strength: Strength, what: impl Into<String>) -> Self {
        Self {
            line: None,
            what: what.into(),
            strength,
        }
    }

    pub(super) fn at(self, line: u32) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }
}

/// Files above this size are compared whole instead of by their parts.
const MOST_BYTES: usize = 1 << 20;

/// What of the change decides how checks run. Bytes that do not parse are compared whole.
pub(super) fn switches(kind: Kind, change: &ChangedFile<'_>) -> Vec<Switch> {
    let too_big = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.len() > MOST_BYTES);
    if too_big(change.before) || too_big(change.after) {
        return vec![whole(change)];
    }
    let before = String::from_utf8_lossy(change.before.unwrap_or_default());
    let after = String::from_utf8_lossy(change.after.unwrap_or_default());
    let (before, after) = (before.as_ref(), after.as_ref());
    let keyed = |read: fn(&str) -> Option<Settings>, judge: settings::Judge| {
        match (read(before), read(after)) {
            (Some(before), Some(after)) => settings::compare(&before, &after, judge),
            // It did not parse before either: nothing that worked was taken away.
            (None, Some(after)) => settings::compare(&Settings::new(), &after, judge),
            (_, None) => vec![whole(change)],
        }
    };
    match kind {
        Kind::Lock => Vec::new(),
        Kind::Whole | Kind::Injected => vec![whole(change)],
        Kind::Conftest => conftest::compare(before, after),
        Kind::Ini => {
            settings::compare(&ini::read(before), &ini::read(after), relevance::python_ini)
        }
        Kind::Npmrc => settings::compare(&ini::read(before), &ini::read(after), relevance::npmrc),
        Kind::PythonToml if change.path.ends_with("pyproject.toml") => {
            keyed(toml::read, relevance::pyproject)
        }
        Kind::PythonToml if change.path.ends_with("pytest.toml") => {
            keyed(toml::read, relevance::pytest_toml)
        }
        Kind::PythonToml | Kind::ToolToml => keyed(toml::read, relevance::tool),
        Kind::CargoManifest => keyed(toml::read, relevance::cargo_manifest),
        Kind::CargoConfig => keyed(toml::read, relevance::cargo_config),
        Kind::PackageJson => keyed(json::read, relevance::package_json),
        Kind::TsConfig => keyed(json::read, relevance::tsconfig),
        Kind::ToolJson => keyed(json::read, relevance::tool),
        Kind::Script => code::compare_config(change, before, after),
        Kind::Pipeline => steps::compare(before, after, steps::is_check),
        Kind::Steps => steps::compare(before, after, |_| true),
        Kind::Makefile => recipes::compare_make(change, before, after),
        Kind::Justfile => recipes::compare_just(before, after),
        Kind::Build => build::compare(change.path, before, after),
        Kind::TestSetup => code::compare_setup(change.path, before, after),
        Kind::Ignores => steps::compare_ignores(before, after),
    }
}

fn whole(change: &ChangedFile<'_>) -> Switch {
    Switch::offence(match (change.before, change.after) {
        (None, _) => "a file that the checks would load was planted",
        (_, None) => "a protected file was deleted",
        _ => "a protected file was changed",
    })
}
