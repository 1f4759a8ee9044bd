//! JavaScript and TypeScript, with JSX or without.
//!
//! The name of a `.js` file does not decide how it is read: as a module or a script, with JSX, with types
//! that a build step strips. A file parses if it parses as any of these.

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use crate::position::error_at_offset;
use crate::{SyntaxError, SyntaxVerdict};

pub(crate) fn parse(name: &str, text: &str) -> SyntaxVerdict {
    let (first, others) = source_types(name);
    let Err(error) = parse_as(text, first) else {
        return SyntaxVerdict::Parses;
    };
    if others.iter().any(|kind| parse_as(text, *kind).is_ok()) {
        return SyntaxVerdict::Parses;
    }
    let head: String = text.chars().take(2000).collect();
    if head.contains("@flow") || head.contains("@noflow") {
        return SyntaxVerdict::Unsure(error, "it is written in Flow");
    }
    SyntaxVerdict::Broken(error)
}

/// The source type that the name means first, and the alternatives.
fn source_types(name: &str) -> (SourceType, Vec<SourceType>) {
    let file = name.rsplit('/').next().unwrap_or(name);
    let ending = file.rsplit('.').next().unwrap_or_default();
    let declares = [".d.ts", ".d.mts", ".d.cts"]
        .iter()
        .any(|end| file.ends_with(end))
        || file.contains(".d.") && ending.ends_with("ts");
    match ending {
        _ if declares => (SourceType::d_ts(), vec![SourceType::ts()]),
        "tsx" => (SourceType::tsx(), vec![SourceType::tsx().with_script(true)]),
        "ts" | "mts" | "cts" => (
            SourceType::ts(),
            vec![
                SourceType::ts().with_script(true),
                SourceType::ts().with_commonjs(true),
                SourceType::tsx(),
            ],
        ),
        _ => (
            SourceType::unambiguous().with_jsx(true),
            vec![
                SourceType::script().with_jsx(true),
                SourceType::cjs(),
                SourceType::mjs(),
                SourceType::tsx(),
                SourceType::ts(),
            ],
        ),
    }
}

fn parse_as(text: &str, kind: SourceType) -> Result<(), SyntaxError> {
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: !kind.is_module(),
        ..ParseOptions::default()
    };
    let read = Parser::new(&allocator, text, kind)
        .with_options(options)
        .parse();
    let Some(error) = read.diagnostics.errors().next() else {
        return if read.panicked {
            Err(error_at_offset(text, 0, "cannot be read"))
        } else {
            Ok(())
        };
    };
    let offset = error
        .labels
        .first()
        .map_or(0, oxc_span::LabeledSpan::offset);
    Err(error_at_offset(
        text,
        usize::try_from(offset).unwrap_or(0),
        &error.message,
    ))
}
