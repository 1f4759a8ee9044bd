//! Licences of all dependencies: each one must offer a licence that `deny.toml` allows.

use super::or_error;
use crate::XtaskResult;
use crate::workspace::CargoMetadata;

const DENY_TOML: &str = include_str!("../../../deny.toml");

pub(crate) fn run() -> XtaskResult {
    let metadata = CargoMetadata::with_dependencies()?;
    let offences: Vec<String> = metadata
        .packages
        .iter()
        .filter_map(|package| {
            let licence = package.license.as_deref().unwrap_or("none");
            let said = format!("{} {}: licence {licence}", package.name, package.version);
            (!is_allowed(licence)).then_some(said)
        })
        .collect();
    or_error(&offences)
}

/// Whether `deny.toml` lists a licence.
fn is_listed(licence: &str) -> bool {
    let list = DENY_TOML
        .split_once("allow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.split('"')
        .skip(1)
        .step_by(2)
        .any(|listed| listed == licence)
}

/// Whether allowed licences satisfy an SPDX expression. `AND` binds tighter than `OR`; the deprecated
/// `/` means `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    parse_or(&mut rest) && rest.is_empty()
}

fn parse_or(words: &mut &[&str]) -> bool {
    let mut allowed = parse_and(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        allowed |= parse_and(words);
    }
    allowed
}

fn parse_and(words: &mut &[&str]) -> bool {
    let mut allowed = parse_term(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        allowed &= parse_term(words);
    }
    allowed
}

fn parse_term(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = parse_or(words);
            if let [")", rest @ ..] = *words {
                *words = rest;
                return allowed;
            }
            false
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            is_listed(&format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *words = rest;
            is_listed(licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_through_an_expression_is_enough() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "none",
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "(MIT",
            "GPL-2.0 WITH LLVM-exception",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn every_dependency_is_ours_to_use() {
        if let Err(offences) = run() {
            panic!("{offences}");
        }
    }
}
