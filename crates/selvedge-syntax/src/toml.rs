//! TOML 1.1, a superset of 1.0.

use toml::de::DeTable;

use crate::SyntaxVerdict;
use crate::position::error_at_offset;

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    match DeTable::parse(text) {
        Ok(_) => SyntaxVerdict::Parses,
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            let fault = error_at_offset(text, offset, error.message());
            if error.message().contains("recursion limit") {
                SyntaxVerdict::Unsure(fault, "it is nested too deeply for the parser")
            } else {
                SyntaxVerdict::Broken(fault)
            }
        }
    }
}
