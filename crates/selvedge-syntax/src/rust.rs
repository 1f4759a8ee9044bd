//! Rust.

use crate::SyntaxVerdict;
use crate::position::error_at;

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let parsed = syn::parse_file(text);
    let verdict = match parsed {
        Ok(_) => SyntaxVerdict::Parses,
        Err(error) => {
            let start = error.span().start();
            SyntaxVerdict::Broken(error_at(start.line, start.column + 1, error.to_string()))
        }
    };
    // Otherwise the texts of all files stay in memory for their spans.
    proc_macro2::extra::invalidate_current_thread_spans();
    verdict
}
