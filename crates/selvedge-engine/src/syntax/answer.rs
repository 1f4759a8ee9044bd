//! Format of the parsers' answers: one line per file, with fields separated by tabs.
//!
//! `ok FILE`, `broken FILE LINE COLUMN MESSAGE`, `unsure FILE LINE COLUMN MESSAGE WHY`,
//! `unknown FILE WHY`. Column 0 means that it is unknown.

use std::collections::HashMap;

use selvedge_syntax::{SyntaxError, SyntaxVerdict};

use super::ParserVerdict;

/// Writes an answer.
pub(super) fn format_answer(file: &str, verdict: &SyntaxVerdict) -> String {
    let fields = |fault: &SyntaxError| {
        let column = fault.column.unwrap_or(0);
        format!(
            "{file}\t{}\t{column}\t{}",
            fault.line,
            sanitize(&fault.message)
        )
    };
    match verdict {
        SyntaxVerdict::Parses => format!("ok\t{file}"),
        SyntaxVerdict::Broken(fault) => format!("broken\t{}", fields(fault)),
        SyntaxVerdict::Unsure(fault, why) => format!("unsure\t{}\t{why}", fields(fault)),
    }
}

/// Reads answers; invalid lines are skipped.
pub(super) fn parse_answers(output: &str) -> HashMap<&str, ParserVerdict> {
    output.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(&str, ParserVerdict)> {
    let mut fields = line.split('\t');
    let (kind, file) = (fields.next()?, fields.next()?);
    match kind {
        "ok" => return Some((file, ParserVerdict::Parses)),
        "unknown" => return Some((file, ParserVerdict::Unknown(fields.next()?.to_owned()))),
        _ => {}
    }
    let number = |field: Option<&str>| field?.trim().parse().ok();
    let fault = SyntaxError {
        line: number(fields.next())?,
        column: number(fields.next()).filter(|column| *column > 0),
        message: fields.next()?.trim().to_owned(),
    };
    match kind {
        "broken" => Some((file, ParserVerdict::Broken(fault))),
        "unsure" => Some((
            file,
            ParserVerdict::Unsure(fault, fields.next()?.to_owned()),
        )),
        _ => None,
    }
}

/// Replaces characters that would end a field or a line.
pub(super) fn sanitize(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
