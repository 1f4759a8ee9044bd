//! `cargo xtask bench`: what Selvedge costs, against the bare minimum on the same machine and disk
//! in the same minute. Everything goes through the release binary, as a user runs it. The table is
//! what `docs/performance.md` shows; nothing here passes or fails, a person reads it.

mod attempts;
mod bench_program;
mod changed_files;
mod digest;
mod first_pass;
mod floods;
mod logs;
mod memory;
mod sandbox;
mod start;
pub(crate) mod table;
mod timing;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::XtaskResult;
use crate::workspace::CargoMetadata;
use bench_program::BenchProgram;
use table::BenchTable;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BenchSize {
    /// A few minutes.
    Usual,
    /// Floods of 10 GB.
    Long,
}

impl BenchSize {
    /// How much a flood brings.
    fn gigabytes(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Long => 10,
        }
    }
}

/// What to measure, and on what.
struct BenchOptions<'a> {
    size: BenchSize,
    /// Another build's program.
    program: Option<&'a str>,
    /// One part of the table only.
    part: Option<&'a str>,
}

/// One part of the table.
type BenchPart = fn(&BenchProgram, BenchSize, &mut BenchTable) -> XtaskResult;

const PARTS: [(&str, BenchPart); 7] = [
    ("start", |selvedge, _, table| {
        start::measure(selvedge, table)
    }),
    ("attempts", |selvedge, _, table| {
        attempts::measure(selvedge, table)
    }),
    ("changed", |selvedge, _, table| {
        changed_files::measure(selvedge, table)
    }),
    ("green", |selvedge, _, table| {
        first_pass::measure(selvedge, table)
    }),
    ("walls", |selvedge, _, table| {
        sandbox::measure(selvedge, table)
    }),
    ("digest", digest::measure),
    ("memory", memory::measure),
];

impl<'a> BenchOptions<'a> {
    fn parse(mut args: &[&'a str]) -> XtaskResult<Self> {
        let mut wish = Self {
            size: BenchSize::Usual,
            program: None,
            part: None,
        };
        loop {
            args = match args {
                [] => return Ok(wish),
                ["--long", rest @ ..] => {
                    wish.size = BenchSize::Long;
                    rest
                }
                ["--program", path, rest @ ..] => {
                    wish.program = Some(path);
                    rest
                }
                [part, rest @ ..] if PARTS.iter().any(|(name, _)| name == part) => {
                    wish.part = Some(part);
                    rest
                }
                _ => {
                    let parts = PARTS.map(|(name, _)| name).join("|");
                    return Err(format!("bench knows [--long] [--program PATH] [{parts}]").into());
                }
            };
        }
    }
}

/// Prints the table.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    let wish = BenchOptions::parse(args)?;
    let folder = CargoMetadata::workspace_only()?
        .target_directory
        .join("bench");
    std::fs::create_dir_all(&folder)?;
    // On the disk that is built on: a temporary directory may be in memory, where syncs are free.
    let scratch = tempfile::tempdir_in(folder)?;
    let selvedge = match wish.program {
        Some(program) => BenchProgram::with_program(program.as_ref(), scratch.path())?,
        None => BenchProgram::build(scratch.path())?,
    };
    println!("{}", table::describe_machine());
    let mut table = BenchTable::default();
    for (name, part) in PARTS {
        if wish.part.is_none_or(|wanted| wanted == name) {
            part(&selvedge, wish.size, &mut table)?;
        }
    }
    println!("\n{table}");
    Ok(())
}

/// The hidden word that the measured runs use as their agent.
pub(crate) const STAMP: &str = "__stamp";

/// Writes what time it is, in nanoseconds.
pub(crate) fn write_stamp(path: impl AsRef<Path>) -> XtaskResult {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(std::fs::write(path, now.as_nanos().to_string())?)
}
