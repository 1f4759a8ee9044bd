//! CSV. Almost any text is valid CSV, so little is certain: only a quoted field that never ends, which
//! swallows the rest of the file. Rows of unequal length are only [`SyntaxVerdict::Unsure`].

use csv_core::{ReadRecordResult, Reader};

use crate::SyntaxVerdict;
use crate::position::error_at;

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let mut rows = RowLengths::default();
    if let Some(line) = rows.read(text) {
        let fault = error_at(line, 1, "a quoted field is never closed");
        // Comments, and quotes that are plain text, may contain unbalanced quotes.
        return if text.contains("\"\n") || text.contains("\"\r") || text.contains("\",") {
            SyntaxVerdict::Broken(fault)
        } else {
            SyntaxVerdict::Unsure(fault, "its quotes may be literal characters")
        };
    }
    match rows.ragged {
        None => SyntaxVerdict::Parses,
        Some((line, fields)) => {
            let message = format!("{fields} fields, but the first row has {}", rows.first);
            SyntaxVerdict::Unsure(
                error_at(line, 1, message),
                "rows may have different lengths",
            )
        }
    }
}

/// Lengths of the rows.
#[derive(Default)]
struct RowLengths {
    /// Fields of the first row.
    first: usize,
    /// The line of the first row with a different number of fields, and that number.
    ragged: Option<(usize, usize)>,
}

impl RowLengths {
    /// Reads all rows. Returns the line of the last one if the text ends within one of its quoted fields.
    fn read(&mut self, text: &str) -> Option<usize> {
        let mut reader = Reader::new();
        let (mut output, mut ends) = ([0; 4096], [0; 256]);
        let mut input = text.trim_end().as_bytes();
        if input.is_empty() {
            return None;
        }
        let (mut line, mut fields) = (1, 0);
        loop {
            let (result, read, _, found) = reader.read_record(input, &mut output, &mut ends);
            input = input.get(read..).unwrap_or_default();
            fields += found;
            match result {
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record => {
                    self.record_row(line, fields);
                    (line, fields) = (usize::try_from(reader.line()).unwrap_or(1), 0);
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => break,
            }
        }
        // Outside of quotes a line feed ends the row.
        let (result, ..) = reader.read_record(b"\n", &mut output, &mut ends);
        (result == ReadRecordResult::InputEmpty).then_some(line)
    }

    fn record_row(&mut self, line: usize, fields: usize) {
        if self.first == 0 {
            self.first = fields;
        } else if fields != self.first && self.ragged.is_none() {
            self.ragged = Some((line, fields));
        }
    }
}
