//! The supported tools: one file per family, one row of [`TABLE`](table::TABLE) per format.
//!
//! A format reads the log line by line. It sees a line if the line may begin one of its own or has one of its
//! signals; while it is open, that is, within a section that it has recognised, it sees every line. So one
//! log may hold the output of any number of tools in any order.

mod alcotest;
mod ant;
mod automake;
mod ava;
mod bazel;
mod block;
mod bun;
mod bundler;
mod cabal;
mod catch2;
mod cmake;
mod coverage;
mod ctest;
mod deno;
mod diagnostic;
mod dialyzer;
mod dispatch;
mod docker;
mod doctest;
mod ghc;
mod git;
mod github;
mod go;
mod go_json;
mod golangci;
mod gradle;
mod grouped_lint;
mod gtest;
mod hspec;
mod jasmine;
mod java_test;
mod jest;
mod json;
mod junit_console;
mod junit_core;
mod karma;
mod libtest;
mod linker;
mod listed_lint;
mod location;
mod make;
mod maven;
mod meson;
mod mix;
mod nextest;
mod node_error;
mod node_test;
mod numbered_list;
mod nunit;
mod ocaml;
mod package_managers;
mod parser_pair;
mod php;
mod pip;
mod playwright;
mod prefilter;
mod prelude;
mod program_error;
mod prove;
mod pytest;
mod pytest_line;
mod python;
mod rubocop;
mod ruby;
mod rust_test_errors;
mod rustc;
mod shell;
mod stack_trace;
mod surefire;
mod swift_testing;
mod table;
mod tap;
mod tap_comment;
mod terraform;
mod testdox;
mod testng;
mod tsc;
mod unittest;
mod uvu;
mod vitest;
mod xctest;
mod xml;

use std::fmt::Debug;

use crate::findings::Findings;
use crate::line::CleanLine;

pub(crate) use dispatch::FormatDispatcher;
pub(crate) use location::is_foreign_frame;

/// A format's claim on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineClaim {
    /// Not part of the format; others may read it.
    NotMine,
    /// Part of the format, but does not explain a failure.
    Ignore,
    /// Machine-readable part of the format: it is recorded, but not shown with other lines.
    Suppress,
    /// The same in every log, or about the run itself: never shown, not even in a log that is shown whole.
    Noise,
    /// Part of a failure of the format, or a total.
    Evidence,
}

impl LineClaim {
    /// A line that is only the tool's if the tool is known.
    fn ignore_if(is_known: bool) -> Self {
        if is_known {
            Self::Ignore
        } else {
            Self::NotMine
        }
    }
}

/// Reads the output of one tool.
pub(crate) trait FormatParser: Debug + Send {
    /// Looks at a line.
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim;

    /// Reads a line that only reports a passed test; true if it is one. The format that read the last line is
    /// called before all others: such lines come by the thousand, and no word in them is searched for.
    fn parse_passed_test(&mut self, _text: &str, _findings: &mut Findings) -> bool {
        false
    }

    /// Whether it must see the next line, whatever its beginning.
    fn is_open(&self) -> bool {
        false
    }

    /// Reads a part of line `number`, which is too long to be passed whole; true if it belongs to the format.
    fn parse_fragment(&mut self, _bytes: &[u8], _number: u64, _findings: &mut Findings) -> bool {
        false
    }

    /// The log has ended, or a test runner's session begins or ends: records the results that were held back.
    fn finish(&mut self, _findings: &mut Findings) {}
}

/// The names of the formats that a [`Digester`](crate::Digester) knows.
pub fn formats() -> impl Iterator<Item = &'static str> {
    table::TABLE.iter().map(|row| row.name)
}
