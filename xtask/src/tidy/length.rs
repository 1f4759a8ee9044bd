//! How long a source file may be. The few that were longer when the rule came stand in
//! `xtask/long-files.txt` with their length, which may only fall: nobody adds a line there.

use std::collections::BTreeMap;

use super::Source;
use crate::Done;

/// Lines that a file may have.
const MOST: usize = 600;
/// The files that may have more: `LINES PATH`, one a line.
const LONG: &str = include_str!("../../long-files.txt");

pub(super) fn check(sources: &[Source]) -> Done<Vec<String>> {
    let files = sources
        .iter()
        .filter(|source| source.is_rust())
        .map(|source| (source.path.as_str(), source.text.lines().count()));
    Ok(offences(&files.collect(), &listed(LONG)?))
}

fn listed(text: &str) -> Done<BTreeMap<&str, usize>> {
    text.lines()
        .map(|line| {
            let (lines, path) = line.split_once(' ').ok_or("long-files.txt: `LINES PATH`")?;
            Ok((path, lines.parse()?))
        })
        .collect()
}

fn offences(files: &BTreeMap<&str, usize>, listed: &BTreeMap<&str, usize>) -> Vec<String> {
    let too_long = files
        .iter()
        .filter_map(|(path, &lines)| match listed.get(path) {
            None if lines > MOST => {
                Some(format!("{path}: {lines} lines, {MOST} are a lot: split it"))
            }
            Some(&most) if lines > most => Some(format!(
                "{path}: {lines} lines, and {most} were too many already: split it"
            )),
            Some(&most) if lines < most => {
                let then = if lines > MOST {
                    format!("say {lines}")
                } else {
                    "strike it out".to_owned()
                };
                Some(format!(
                    "{path}: only {lines} lines now: {then} in xtask/long-files.txt"
                ))
            }
            _ => None,
        });
    let gone = listed
        .keys()
        .filter(|path| !files.contains_key(*path))
        .map(|path| format!("{path}: is gone: strike it out in xtask/long-files.txt"));
    too_long.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: usize, listed: &str) -> String {
        let files = BTreeMap::from([("a.rs", lines)]);
        offences(&files, &super::listed(listed).unwrap()).join("\n")
    }

    #[test]
    fn a_length_may_only_fall() {
        assert_eq!(check(MOST, ""), "");
        assert!(check(601, "").contains("split it"));
        assert_eq!(check(650, "650 a.rs"), "");
        assert!(check(651, "650 a.rs").contains("split it"));
        assert!(check(649, "650 a.rs").contains("say 649"));
        assert!(check(MOST, "650 a.rs").contains("strike it out"));
        assert!(check(MOST, "650 b.rs").contains("b.rs: is gone"));
    }
}
