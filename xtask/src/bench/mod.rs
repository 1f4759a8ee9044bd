//! `cargo xtask bench`: what Selvedge costs, against the bare minimum on the same machine and disk
//! in the same minute. Everything goes through the release binary, as a user runs it. The table is
//! what `docs/performance.md` shows; nothing here passes or fails, a person reads it.

mod attempts;
mod changed;
mod digest;
mod floods;
mod green;
mod logs;
mod memory;
mod selvedge;
mod start;
pub(crate) mod table;
mod timing;
mod walls;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Done;
use crate::workspace::Metadata;
use selvedge::Selvedge;
use table::Table;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// A few minutes.
    Usual,
    /// Floods of 10 GB.
    Long,
}

impl Size {
    /// How much a flood brings.
    fn gigabytes(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Long => 10,
        }
    }
}

/// What to measure, and on what.
struct Wish<'a> {
    size: Size,
    /// Another build's program.
    program: Option<&'a str>,
    /// One part of the table only.
    part: Option<&'a str>,
}

/// One part of the table.
type Part = fn(&Selvedge, Size, &mut Table) -> Done;

const PARTS: [(&str, Part); 7] = [
    ("start", |selvedge, _, table| {
        start::measure(selvedge, table)
    }),
    ("attempts", |selvedge, _, table| {
        attempts::measure(selvedge, table)
    }),
    ("changed", |selvedge, _, table| {
        changed::measure(selvedge, table)
    }),
    ("green", |selvedge, _, table| {
        green::measure(selvedge, table)
    }),
    ("walls", |selvedge, _, table| {
        walls::measure(selvedge, table)
    }),
    ("digest", digest::measure),
    ("memory", memory::measure),
];

impl<'a> Wish<'a> {
    fn parse(mut args: &[&'a str]) -> Done<Self> {
        let mut wish = Self {
            size: Size::Usual,
            program: None,
            part: None,
        };
        loop {
            args = match args {
                [] => return Ok(wish),
                ["--long", rest @ ..] => {
                    wish.size = Size::Long;
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
pub(crate) fn run(args: &[&str]) -> Done {
    let wish = Wish::parse(args)?;
    let folder = Metadata::own()?.target_directory.join("bench");
    std::fs::create_dir_all(&folder)?;
    // On the disk that is built on: a temporary directory may be in memory, where syncs are free.
    let scratch = tempfile::tempdir_in(folder)?;
    let selvedge = match wish.program {
        Some(program) => Selvedge::at(program.as_ref(), scratch.path())?,
        None => Selvedge::build(scratch.path())?,
    };
    println!("{}", table::machine());
    let mut table = Table::default();
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
pub(crate) fn stamp(path: impl AsRef<Path>) -> Done {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(std::fs::write(path, now.as_nanos().to_string())?)
}
