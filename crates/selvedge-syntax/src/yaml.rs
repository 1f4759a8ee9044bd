//! YAML, document after document, as events: tags, anchors and keys that only some reader refuses
//! are no errors here.

use saphyr_parser::Parser;

use crate::Verdict;
use crate::position::at;

/// What only the newer version of YAML demands; most readers are of the older one.
const OF_VERSION_1_2: &str = "missing explicit document end marker";

pub(crate) fn parse(_: &str, text: &str) -> Verdict {
    let error = Parser::new_from_str(text).find_map(Result::err);
    match error {
        None => Verdict::Parses,
        Some(error) => {
            let marker = error.marker();
            let fault = at(marker.line(), marker.col() + 1, error.info());
            if error.info().starts_with(OF_VERSION_1_2) {
                Verdict::Unsure(fault, "YAML 1.1 takes it")
            } else {
                Verdict::Broken(fault)
            }
        }
    }
}
