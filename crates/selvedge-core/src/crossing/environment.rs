//! Files with environment variables, which programs and tools load automatically.

use std::collections::{BTreeMap, BTreeSet};

use super::references::{ReferenceTarget, References, name_of};
use super::sides::{BaseProject, ProjectSide};
use crate::guard::{ChangedFile, Pattern, SourceLanguage};

/// Files that tools load; not those that only document the variables, such as `.env.example`.
static ENVIRONMENT: Pattern = Pattern::new(r"^\.env(?:\.[\w.-]+)?$");
static DESCRIPTION: Pattern = Pattern::new(r"\.(?:example|sample|template|dist|defaults?|schema)$");

/// Variables that interpreters, loaders and runners read.
static OF_TOOLS: Pattern = Pattern::new(
    r"(?i)^(?:PATH|IFS|ENV|BASH_ENV|SHELL|HOME|CI|(?:LD_|DYLD_|PYTEST|PYTHON|NODE_|NPM_|JEST_|VITEST|RUBY|GEM_|BUNDLE_|PERL|PHP|JAVA_|JDK_|MAVEN_|GRADLE_|GO|CARGO|RUST|MAKE|CFLAGS|CXX|TOX_|UV_|COVERAGE).*)$",
);

impl BaseProject<'_> {
    /// The side of a file with environment variables; `None` for other files. Test runners and tools load it, so it is
    /// on the test side unless the product reads the file and names every variable that changes.
    pub(super) fn side_of_environment(&self, change: &ChangedFile<'_>) -> Option<ProjectSide> {
        let path = change.path;
        if !ENVIRONMENT.is_match(name_of(path)) || DESCRIPTION.is_match(path) {
            return None;
        }
        let target = ReferenceTarget::new(path);
        let code = self.base.keys().filter(|other| {
            SourceLanguage::from_path(other).is_some() && !self.tests.contains(other.as_str())
        });
        let code: Vec<(&String, &str)> = code
            .filter_map(|other| Some((other, self.text(other)?)))
            .collect();
        let reads = |(other, text): &(&String, &str)| {
            text.contains(".env") && References::of(other, text).contains(other, &target)
        };
        let (Some(before), Some(after)) = (variables(change.before), variables(change.after))
        else {
            return Some(ProjectSide::Test);
        };
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        let mut changed = names
            .into_iter()
            .filter(|name| before.get(name) != after.get(name));
        let is_named = |name: &str| {
            !OF_TOOLS.is_match(name) && code.iter().any(|(_, text)| contains_word(text, name))
        };
        Some(if code.iter().any(reads) && changed.all(is_named) {
            ProjectSide::Work
        } else {
            ProjectSide::Test
        })
    }
}

/// The variables of a file; `None` if it does not exist or has other lines than assignments and comments.
fn variables(bytes: Option<&[u8]>) -> Option<BTreeMap<&str, &str>> {
    let text = std::str::from_utf8(bytes?).ok()?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line
                .strip_prefix("export ")
                .unwrap_or(line)
                .split_once('=')?;
            let name = name.trim();
            let is_name = |name: &str| {
                name.bytes()
                    .all(|it| it.is_ascii_alphanumeric() || it == b'_')
            };
            is_name(name).then_some((name, value))
        })
        .collect()
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
        })
}
