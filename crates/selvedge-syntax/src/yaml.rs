//! YAML, document by document, as events. Tags, anchors and keys that only some readers reject are not
//! errors.

use std::borrow::Cow;

use saphyr_parser::Parser;

use crate::SyntaxVerdict;
use crate::position::error_at;

/// An error of YAML 1.2 only; most readers implement 1.1.
const YAML_1_2_ONLY: &str = "missing explicit document end marker";
/// Why such an error may not matter.
const ACCEPTED_BY_1_1: &str = "YAML 1.1 accepts it";

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let error = Parser::new_from_str(text).find_map(Result::err);
    match error {
        None => SyntaxVerdict::Parses,
        Some(error) => {
            let marker = error.marker();
            let fault = error_at(marker.line(), marker.col() + 1, error.info());
            let indented = indent_closing_brackets(text);
            let is_accepted = error.info().starts_with(YAML_1_2_ONLY)
                || Parser::new_from_str(&indented).all(|event| event.is_ok());
            if is_accepted {
                SyntaxVerdict::Unsure(fault, ACCEPTED_BY_1_1)
            } else {
                SyntaxVerdict::Broken(fault)
            }
        }
    }
}

/// Indents the lines that only close a list or a table. YAML 1.1, and with it most readers, accepts them where YAML 1.2
/// requires more spaces than before the key that they belong to. Only for text that does not parse.
pub fn indent_closing_brackets(text: &str) -> Cow<'_, str> {
    let closes = |line: &str| {
        let line = line.trim();
        line.starts_with([']', '}']) && line.chars().all(|it| matches!(it, ']' | '}' | ',' | ' '))
    };
    if !text.lines().any(closes) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let spaces = if closes(line) { "        " } else { "" };
        [spaces, line].concat()
    });
    Cow::Owned(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_bracket_below_its_key_is_no_certain_error() {
        let text = "\
matrix:
  name: [
    \"a\",
  ]

  include:
    - name: \"a\"
run: |
  f() {
    true
  }
";
        let verdict = parse("a.yml", text);
        assert!(
            matches!(verdict, SyntaxVerdict::Unsure(_, ACCEPTED_BY_1_1)),
            "{verdict:?}"
        );
        let broken = parse("a.yml", &text.replace("include", "{"));
        assert!(matches!(broken, SyntaxVerdict::Broken(_)), "{broken:?}");
    }
}
