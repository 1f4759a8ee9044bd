//! Well-formed XML: matching tags, quoted and unique attributes, terminated references. Entities and
//! namespaces are not resolved, because they may be declared in another file.

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::Event;

use crate::SyntaxVerdict;
use crate::position::error_at_offset;

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<(String, usize)> = Vec::new();
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return SyntaxVerdict::Broken(reader_error(text, &reader, &error)),
        };
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(error) = tag.attributes().find_map(Result::err) {
                    return SyntaxVerdict::Broken(error_at_offset(text, start, error.to_string()));
                }
                if matches!(event, Event::Start(_)) {
                    let name = tag.name().as_ref().to_owned();
                    open.push((name, start));
                }
            }
            Event::End(_) => drop(open.pop()),
            Event::Eof => break,
            _ => {}
        }
    }
    match open.pop() {
        None => SyntaxVerdict::Parses,
        Some((name, start)) => SyntaxVerdict::Broken(error_at_offset(
            text,
            start,
            format!("`<{name}>` is never closed"),
        )),
    }
}

fn reader_error(text: &str, reader: &Reader<&[u8]>, error: &Error) -> crate::SyntaxError {
    let offset = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
    error_at_offset(text, offset, error.to_string())
}
