//! YAML, document by document, as events. Tags, anchors and keys that only some readers reject are not
//! errors.

use saphyr_parser::Parser;

use crate::SyntaxVerdict;
use crate::position::error_at;

/// An error of YAML 1.2 only; most readers implement 1.1.
const YAML_1_2_ONLY: &str = "missing explicit document end marker";

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let error = Parser::new_from_str(text).find_map(Result::err);
    match error {
        None => SyntaxVerdict::Parses,
        Some(error) => {
            let marker = error.marker();
            let fault = error_at(marker.line(), marker.col() + 1, error.info());
            if error.info().starts_with(YAML_1_2_ONLY) {
                SyntaxVerdict::Unsure(fault, "YAML 1.1 accepts it")
            } else {
                SyntaxVerdict::Broken(fault)
            }
        }
    }
}
