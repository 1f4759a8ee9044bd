//! `cargo xtask bench`: the overhead of Selvedge, compared with the bare minimum on the same machine
//! and disk in the same minute. Runs a build of the profile `optimized`. `docs/explanation/performance.md` shows
//! the table. A missed bar is marked in the table but does not fail the command.

mod attempts;
mod bench_program;
mod changed_files;
mod digest;
mod first_pass;
mod floods;
mod logs;
mod memory;
mod rooms;
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

/// The duration of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BenchSize {
    /// Takes a few minutes.
    Usual,
    /// Includes floods of 10 GB.
    Long,
}

impl BenchSize {
    /// Size of a flood.
    fn gigabytes(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Long => 10,
        }
    }
}

/// The parsed arguments.
struct BenchOptions<'a> {
    size: BenchSize,
    /// Program to measure instead of a build of the profile `optimized`.
    program: Option<&'a str>,
    /// The only part to measure; all parts if absent.
    part: Option<&'a str>,
}

/// Measures one part and adds its rows to the table.
type BenchPart = fn(&BenchProgram, BenchSize, &mut BenchTable) -> XtaskResult;

const PARTS: [(&str, BenchPart); 8] = [
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
    ("rooms", |selvedge, _, table| {
        rooms::measure(selvedge, table)
    }),
    ("sandbox", |selvedge, _, table| {
        sandbox::measure(selvedge, table)
    }),
    ("digest", digest::measure),
    ("memory", memory::measure),
];

impl<'a> BenchOptions<'a> {
    fn parse(mut args: &[&'a str]) -> XtaskResult<Self> {
        let mut options = Self {
            size: BenchSize::Usual,
            program: None,
            part: None,
        };
        loop {
            args = match args {
                [] => return Ok(options),
                ["--long", rest @ ..] => {
                    options.size = BenchSize::Long;
                    rest
                }
                ["--program", path, rest @ ..] => {
                    options.program = Some(path);
                    rest
                }
                [part, rest @ ..] if PARTS.iter().any(|(name, _)| name == part) => {
                    options.part = Some(part);
                    rest
                }
                _ => {
                    let parts = PARTS.map(|(name, _)| name).join("|");
                    return Err(format!(
                        "usage: cargo xtask bench [--long] [--program PATH] [{parts}]"
                    )
                    .into());
                }
            };
        }
    }
}

/// Measures and prints the table.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    let options = BenchOptions::parse(args)?;
    let folder = CargoMetadata::workspace_only()?
        .target_directory
        .join("bench");
    std::fs::create_dir_all(&folder)?;
    // On the disk of the target directory: a temporary directory may be in memory, where syncs are
    // free.
    let scratch = tempfile::tempdir_in(folder)?;
    let selvedge = match options.program {
        Some(program) => BenchProgram::with_program(program.as_ref(), scratch.path())?,
        None => BenchProgram::build(scratch.path())?,
    };
    println!("{}", table::describe_machine());
    let mut table = BenchTable::default();
    for (name, part) in PARTS {
        if options.part.is_none_or(|wanted| wanted == name) {
            part(&selvedge, options.size, &mut table)?;
        }
    }
    println!("\n{table}");
    Ok(())
}

/// The internal subcommand of xtask that the measured runs use as their agent.
pub(crate) const STAMP: &str = "__stamp";

/// Writes the current time, in nanoseconds since 1970.
pub(crate) fn write_stamp(path: impl AsRef<Path>) -> XtaskResult {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(std::fs::write(path, now.as_nanos().to_string())?)
}
