//! Regular expressions of this crate.

use regex::Regex;

/// Compiles a constant pattern.
///
/// `\d`, `\w`, `\s` and `\b` mean ASCII here: tools write ASCII, and automata for all of Unicode are fifty
/// times as large and take as much longer to build.
pub(crate) fn pattern(source: &'static str) -> Regex {
    // Each pattern is a constant that the tests of its module compile, so an invalid one never ships.
    Regex::new(&expand_ascii_classes(source))
        .unwrap_or_else(|error| unreachable!("constant pattern: {error}"))
}

/// Replaces the classes of `source` by their ASCII ranges.
fn expand_ascii_classes(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let mut chars = source.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => push_class(&mut out, in_class, "0-9"),
                Some('w') => push_class(&mut out, in_class, "0-9A-Za-z_"),
                Some('s') => push_class(&mut out, in_class, " \\t"),
                Some('S') => out.push_str("[^ \\t]"),
                Some('b') => out.push_str("(?-u:\\b)"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

fn push_class(out: &mut String, in_class: bool, members: &str) {
    if in_class {
        out.push_str(members);
    } else {
        out.extend(["[", members, "]"]);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn classes_are_spelled_out() {
        assert_eq!(
            super::expand_ascii_classes(r"^\s*(\d+)[\w.-]\b\."),
            r"^[ \t]*([0-9]+)[0-9A-Za-z_.-](?-u:\b)\."
        );
        assert!(super::pattern(r"^[^\s:]+\S$").is_match("ünïcode"));
    }
}
