//! JavaScript and TypeScript, with JSX or without.
//!
//! What a `.js` file is, only its readers know: a module or a script, with JSX, with types that
//! some step strips. It parses if it does as any of these.

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use crate::position::fault;
use crate::{Fault, Verdict};

pub(crate) fn parse(name: &str, text: &str) -> Verdict {
    let (first, others) = kinds(name);
    let Err(error) = read(text, first) else {
        return Verdict::Parses;
    };
    if others.iter().any(|kind| read(text, *kind).is_ok()) {
        return Verdict::Parses;
    }
    let head: String = text.chars().take(2000).collect();
    if head.contains("@flow") || head.contains("@noflow") {
        return Verdict::Unsure(error, "it is written in Flow");
    }
    Verdict::Broken(error)
}

/// What the name means in the first place, and what it may mean besides.
fn kinds(name: &str) -> (SourceType, Vec<SourceType>) {
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

fn read(text: &str, kind: SourceType) -> Result<(), Fault> {
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
            Err(fault(text, 0, "cannot be read"))
        } else {
            Ok(())
        };
    };
    let offset = error
        .labels
        .first()
        .map_or(0, oxc_span::LabeledSpan::offset);
    Err(fault(
        text,
        usize::try_from(offset).unwrap_or(0),
        &error.message,
    ))
}
