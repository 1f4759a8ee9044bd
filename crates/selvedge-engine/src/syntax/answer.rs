//! How parsers answer, whoever they are: a line for each file, its fields between tabs.
//!
//! `ok FILE`, `broken FILE LINE COLUMN MESSAGE`, `unsure FILE LINE COLUMN MESSAGE WHY`. A column of 0
//! is none.

use std::collections::HashMap;

use selvedge_syntax::{Fault, Verdict};

use super::Said;

/// Writes an answer.
pub(super) fn write(file: &str, verdict: &Verdict) -> String {
    let fields = |fault: &Fault| {
        let column = fault.column.unwrap_or(0);
        format!(
            "{file}\t{}\t{column}\t{}",
            fault.line,
            plain(&fault.message)
        )
    };
    match verdict {
        Verdict::Parses => format!("ok\t{file}"),
        Verdict::Broken(fault) => format!("broken\t{}", fields(fault)),
        Verdict::Unsure(fault, why) => format!("unsure\t{}\t{why}", fields(fault)),
    }
}

/// Reads answers; lines that are none are skipped.
pub(super) fn read(output: &str) -> HashMap<&str, Said> {
    output.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(&str, Said)> {
    let mut fields = line.split('\t');
    let (kind, file) = (fields.next()?, fields.next()?);
    if kind == "ok" {
        return Some((file, Said::Parses));
    }
    let number = |field: Option<&str>| field?.trim().parse().ok();
    let fault = Fault {
        line: number(fields.next())?,
        column: number(fields.next()).filter(|column| *column > 0),
        message: fields.next()?.trim().to_owned(),
    };
    match kind {
        "broken" => Some((file, Said::Broken(fault))),
        "unsure" => Some((file, Said::Unsure(fault, fields.next()?.to_owned()))),
        _ => None,
    }
}

/// Without what would end a field or a line.
pub(super) fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
