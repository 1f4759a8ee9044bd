//! Rules for type names: no two public types share a name, and no import alias resolves a conflict of
//! names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::RepositoryFile;

/// A type that is visible to other modules of its crate.
static PUBLIC_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?m)^pub(?:\(crate\))? (?:unsafe )?(?:struct|enum|trait|type|union) (\w+)")
});
/// An import from this workspace. An alias of a single letter is an accepted abbreviation.
static ALIAS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?m)^(?:pub(?:\(\w+\))? )?use ((?:crate|super|self|selvedge_\w+)::[^;]*);")
});
static RENAMED: LazyLock<Regex> = LazyLock::new(|| regex(r"\b([A-Z]\w*) as ([A-Z]\w+)"));

pub(super) fn check(sources: &[RepositoryFile]) -> Vec<String> {
    let code = || sources.iter().filter(|source| is_code(source));
    let mut locations: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in code() {
        for found in PUBLIC_TYPE.captures_iter(&source.text) {
            let name = found.get(1).map_or("", |name| name.as_str());
            locations.entry(name).or_default().push(&source.path);
        }
    }
    locations.retain(|_, paths| paths.len() > 1);
    let shared = locations
        .into_iter()
        .map(|(name, paths)| format!("types share the name `{name}`: {}", paths.join(", ")));
    let aliases = code().flat_map(|source| {
        let imports = ALIAS.captures_iter(&source.text);
        let renamed = imports.flat_map(|import| {
            let paths = import.get(1).map_or("", |paths| paths.as_str());
            RENAMED
                .captures_iter(paths)
                .map(|found| found[0].to_owned())
        });
        renamed.map(|alias| {
            format!(
                "{}: rename the type instead of using an alias: `{alias}`",
                source.path
            )
        })
    });
    shared.chain(aliases).collect()
}

/// Whether the rules apply to a file; tests may define types freely.
fn is_code(source: &RepositoryFile) -> bool {
    let path = &source.path;
    let is_test = ["/tests/", "/benches/"].iter().any(|it| path.contains(it));
    source.is_rust() && !is_test && !path.ends_with("/tests.rs")
}

#[allow(clippy::expect_used, reason = "the patterns above are valid")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)]) -> String {
        let sources = files.iter().map(|&(path, text)| RepositoryFile {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        super::check(&sources.collect::<Vec<_>>()).join("\n")
    }

    #[test]
    fn names_of_public_types_are_unique() {
        let shared = check(&[
            ("a.rs", "pub struct Run;\n"),
            ("b.rs", "pub(crate) enum Run {}\n"),
        ]);
        assert_eq!(shared, "types share the name `Run`: a.rs, b.rs");
        let own = [
            ("a.rs", "pub struct Run;\n"),
            ("b.rs", "struct Run;\n"),
            ("c/tests/d.rs", "pub struct Run;\n"),
        ];
        assert_eq!(check(&own), "");
    }

    #[test]
    fn names_of_imports_are_kept() {
        let renamed = check(&[("a.rs", "use crate::model::{Step, Task as Asked};\n")]);
        assert_eq!(
            renamed,
            "a.rs: rename the type instead of using an alias: `Task as Asked`"
        );
        assert_eq!(check(&[("a.rs", "use std::path::Path as FilePath;\n")]), "");
    }
}
