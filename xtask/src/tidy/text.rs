//! What stands in a file, and what it is called.

use super::Source;

/// Names that say nothing of what a module holds.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "helper", "helpers", "manager", "common", "misc", "shared",
];

/// What must not be written down: where somebody's machine keeps things, and where packages come
/// from. In pieces, so that this file does not offend.
const UNWRITTEN: [(&[&str], &str); 9] = [
    (&["/wo", "rk/"], "a path of one machine"),
    (&["/ro", "ot/"], "a path of one machine"),
    (&["index.", "crates.io"], "a registry's host"),
    (&["static.", "crates.io"], "a registry's host"),
    (&["registry.", "npmjs.org"], "a registry's host"),
    (&["pypi.", "org"], "a registry's host"),
    (&["files.", "pythonhosted.org"], "a registry's host"),
    (&["deb.", "debian.org"], "a registry's host"),
    (&["proxy.", "golang.org"], "a registry's host"),
];

pub(super) fn check(source: &Source) -> Vec<String> {
    let mut offences = unwritten(source);
    if source.is_rust() {
        offences.extend(opening(source));
        offences.extend(name(source));
    }
    offences
}

/// Every file says at its top what lives in it. A fixture is data, and is included as such.
fn opening(source: &Source) -> Option<String> {
    let opens = source.text.starts_with("//! ") || source.path.contains("/fixtures/");
    (!opens).then(|| {
        format!(
            "{}: begins with no `//!` that says what lives here",
            source.path
        )
    })
}

fn name(source: &Source) -> Option<String> {
    let stem = source.path.trim_end_matches(".rs");
    let empty = stem.split('/').find(|part| EMPTY_NAMES.contains(part))?;
    Some(format!(
        "{}: `{empty}` says nothing of what it holds",
        source.path
    ))
}

fn unwritten(source: &Source) -> Vec<String> {
    let lines = source.text.lines().zip(1..);
    let found = lines.flat_map(|(line, number)| {
        let offends = |(pieces, what): &(&[&str], &str)| {
            begins_in(line, &pieces.concat())
                .then(|| format!("{}:{number}: {what}: `{}`", source.path, pieces.concat()))
        };
        UNWRITTEN.iter().filter_map(offends).collect::<Vec<_>>()
    });
    found.collect()
}

/// Whether it stands in the line as the beginning of a path or a host, not as a part of one.
fn begins_in(line: &str, what: &str) -> bool {
    line.match_indices(what).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> String {
        super::check(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
        .join("\n")
    }

    #[test]
    fn a_rust_file_says_what_lives_in_it() {
        assert_eq!(check("a.rs", "//! What a run is.\n"), "");
        assert!(check("a.rs", "use std::fs;\n").contains("a.rs: begins with no `//!`"));
        assert_eq!(check("a.toml", "[package]\n"), "");
        assert_eq!(check("tests/fixtures/a.rs", "&[1, 2]\n"), "");
    }

    #[test]
    fn a_name_says_what_it_holds() {
        assert_eq!(check("src/uncommon.rs", "//! Rare."), "");
        assert!(check("src/utils.rs", "//! All sorts.").contains("`utils` says nothing"));
        assert!(check("src/common/mod.rs", "//! All sorts.").contains("`common` says nothing"));
    }

    #[test]
    fn no_machine_and_no_registry_is_named() {
        let home = ["/ro", "ot/.cache"].concat();
        assert!(
            check("a.md", &format!("one\nsee {home}")).contains("a.md:2: a path of one machine")
        );
        assert_eq!(check("a.md", &format!("/src{home} and src{home}")), "");
        let host = ["https://registry.", "npmjs.org/x"].concat();
        assert!(check("a.json", &host).contains("a registry's host"));
    }
}
