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
            let violation = format!("{} {}: licence {licence}", package.name, package.version);
            (!is_allowed(licence)).then_some(violation)
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
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    parse_or(&mut rest) && rest.is_empty()
}

fn parse_or(tokens: &mut &[&str]) -> bool {
    let mut allowed = parse_and(tokens);
    while let ["OR", rest @ ..] = *tokens {
        *tokens = rest;
        allowed |= parse_and(tokens);
    }
    allowed
}

fn parse_and(tokens: &mut &[&str]) -> bool {
    let mut allowed = parse_term(tokens);
    while let ["AND", rest @ ..] = *tokens {
        *tokens = rest;
        allowed &= parse_term(tokens);
    }
    allowed
}

fn parse_term(tokens: &mut &[&str]) -> bool {
    match *tokens {
        ["(", rest @ ..] => {
            *tokens = rest;
            let allowed = parse_or(tokens);
            if let [")", rest @ ..] = *tokens {
                *tokens = rest;
                return allowed;
            }
            false
        }
        [licence, "WITH", exception, rest @ ..] => {
            *tokens = rest;
            is_listed(&format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *tokens = rest;
            is_listed(licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expression_needs_one_allowed_alternative() {
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
    fn licences_of_all_dependencies_are_allowed() {
        if let Err(offences) = run() {
            panic!("{offences}");
        }
    }
}
