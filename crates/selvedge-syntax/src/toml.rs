//! TOML, of version 1.1, which takes all of 1.0.

use toml::de::DeTable;

use crate::Verdict;
use crate::position::fault;

pub(crate) fn parse(_: &str, text: &str) -> Verdict {
    match DeTable::parse(text) {
        Ok(_) => Verdict::Parses,
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            let fault = fault(text, offset, error.message());
            if error.message().contains("recursion limit") {
                Verdict::Unsure(fault, "it is nested more deeply than the parser goes")
            } else {
                Verdict::Broken(fault)
            }
        }
    }
}
