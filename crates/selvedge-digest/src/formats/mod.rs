//! The tools whose output is known: one file a family, one row of [`TABLE`] a format.
//!
//! A format reads the log line by line. It is shown a line when the line begins with one of its
//! bytes or bears one of its signals, and every line while it is open, that is, within a section
//! that it has recognised. So one log may hold the output of any number of tools in any order.

mod alcotest;
mod ant;
mod ava;
mod bazel;
mod bundler;
mod cabal;
mod catch2;
mod cmake;
mod ctest;
mod diagnostic;
mod dialyzer;
mod docker;
mod doctest;
mod ghc;
mod git;
mod github;
mod go;
mod go_json;
mod gradle;
mod grouped;
mod gtest;
mod hspec;
mod jasmine;
mod java_test;
mod jest;
mod json;
mod junit_console;
mod karma;
mod libtest;
mod linker;
mod make;
mod maven;
mod mix;
mod nextest;
mod node_test;
mod numbered;
mod nunit;
mod ocaml;
mod packages;
mod php;
mod pip;
mod place;
mod playwright;
mod prove;
mod pytest;
mod rubocop;
mod ruby;
mod rustc;
mod shell;
mod surefire;
mod tap;
mod terraform;
mod testdox;
mod testng;
mod trace;
mod tsc;
mod unittest;
mod unpanicked;
mod vitest;
mod xml;

use std::fmt::Debug;

use crate::findings::Findings;
use crate::line::{Line, Signals};

pub(crate) use place::is_foreign_frame;

/// What a format makes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Not the format's; others may look at it.
    Foreign,
    /// The format's, and nothing that explains a failure.
    Noise,
    /// The format's, and nobody is to read it: in words for machines, and recorded; or the same in
    /// every log.
    Chaff,
    /// The format's, and part of a failure, or a total.
    Evidence,
}

/// Reads the output of one tool.
pub(crate) trait Format: Debug + Send {
    /// Looks at a line.
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim;

    /// Whether it wants to see the next line, whatever that begins with.
    fn is_open(&self) -> bool {
        false
    }

    /// Reads a part of line `number`, which is too long to be shown; true if it is its own.
    fn part(&mut self, _bytes: &[u8], _number: u64, _findings: &mut Findings) -> bool {
        false
    }

    /// The log has ended.
    fn finish(&mut self, _findings: &mut Findings) {}
}

/// A row of the table.
struct Row {
    /// What it is called where one format is tried alone.
    name: &'static str,
    /// The first bytes (after the indentation) of lines that the format must see.
    starts: &'static [u8],
    /// It also must see any line with one of these signals.
    signals: Signals,
    /// Its failures are one line each: a flood of them is not read.
    one_liners: bool,
    make: fn() -> Box<dyn Format>,
}

const fn row<F: Format + Default + 'static>(
    name: &'static str,
    starts: &'static [u8],
    signals: Signals,
) -> Row {
    Row {
        name,
        starts,
        signals,
        one_liners: false,
        make: || Box::<F>::default(),
    }
}

impl Row {
    const fn one_liners(self) -> Self {
        Self {
            one_liners: true,
            ..self
        }
    }
}

/// Earlier rows look at a line first: within a document, nothing is what it seems. There is room
/// for 64.
static TABLE: &[Row] = &[
    row::<json::Json>("json", b"{[", Signals::NONE),
    row::<xml::Xml>("xml", b"<\xef", Signals::NONE),
    row::<git::Git>("git", b"Cef", Signals::NONE).one_liners(),
    row::<mix::Mix>("mix", b"*eT", Signals::PLACE),
    row::<docker::Docker>("docker", b"#STCAEd", Signals::FAIL),
    row::<rustc::Rustc>("rustc", b"ewC", Signals::NONE),
    row::<nextest::Nextest>("nextest", b"PFSATLX", Signals::NONE),
    row::<libtest::Libtest>("libtest", b"tr-f.", Signals::FAIL),
    row::<pytest::Pytest>("pytest", b"=0123456789", Signals::NONE),
    row::<unittest::Unittest>("unittest", b"FERUt", Signals::NONE),
    row::<go::Go>("go", b"=-oF?#pf", Signals::NONE),
    row::<go_json::GoJson>("go_json", b"{", Signals::NONE),
    row::<jest::Jest>("jest", b"FPT", Signals::NONE),
    row::<vitest::Vitest>("vitest", b"FTR\xe2", Signals::CROSS.with(Signals::TICK)),
    row::<testdox::Testdox>("testdox", b"P\xe2", Signals::CROSS.with(Signals::TICK)),
    row::<node_test::NodeTest>(
        "node_test",
        b"t\xe2\xef",
        Signals::CROSS.with(Signals::TICK),
    ),
    row::<tap::Tap>("tap", b"To1n", Signals::NONE),
    row::<prove::Prove>(
        "prove",
        b"#(TtF",
        Signals::PLACE.with(Signals::FAIL).with(Signals::ERROR),
    ),
    row::<ava::Ava>("ava", b"\xe2U", Signals::NONE),
    row::<karma::Karma>(
        "karma",
        b"CFSIHPWEMO",
        Signals::FAIL.with(Signals::ERROR).with(Signals::TICK),
    ),
    row::<alcotest::Alcotest>("alcotest", b"[>\xe2T", Signals::FAIL),
    row::<nunit::NUnit>("nunit", b"T", Signals::FAIL.with(Signals::ERROR)),
    row::<gtest::GoogleTest>("gtest", b"[0123456789", Signals::FAIL),
    row::<catch2::Catch2>("catch2", b"~-AtP", Signals::FAIL),
    row::<cmake::CMake>("cmake", b"C", Signals::NONE),
    row::<bazel::Bazel>("bazel", b"EFIW/", Signals::NONE),
    row::<packages::Packages>("packages", b"nyE", Signals::NONE),
    row::<pip::Pip>("pip", b"Een", Signals::NONE),
    row::<cabal::Cabal>("cabal", b"cT", Signals::NONE),
    row::<linker::Linker>("linker", b"/lax", Signals::TROUBLE.with(Signals::ERROR)).one_liners(),
    row::<make::Make>("make", b"mgMFn", Signals::PLACE),
    row::<maven::Maven>("maven", b"[", Signals::NONE),
    row::<ant::Ant>("ant", b"[T/", Signals::NONE),
    row::<surefire::Surefire>("surefire", b"", Signals::FAIL.with(Signals::ERROR)),
    row::<gradle::Gradle>("gradle", b":>*", Signals::FAIL),
    row::<junit_console::JUnitConsole>("junit_console", b"J[", Signals::NONE),
    row::<testng::TestNg>("testng", b"FPST[", Signals::NONE),
    row::<hspec::Hspec>("hspec", b"0123456789", Signals::PLACE),
    row::<playwright::Playwright>("playwright", b"0123456789-\xe2o", Signals::NONE),
    row::<jasmine::Jasmine>("jasmine", b"M0123456789", Signals::NONE),
    row::<doctest::Doctest>("doctest", b"*", Signals::NONE),
    row::<bundler::Bundler>("bundler", b"\xe2EW[C", Signals::PLACE),
    row::<numbered::Numbered>("numbered", b"0123456789TEFPA", Signals::NONE),
    row::<rubocop::RuboCop>("rubocop", b"=IRCWEF", Signals::PLACE).one_liners(),
    row::<ruby::Ruby>("ruby", b"[CBr", Signals::PLACE),
    row::<php::Php>("php", b"PFRC\"", Signals::NONE),
    row::<shell::Shell>(
        "shell",
        b"",
        Signals::TROUBLE.with(Signals::ASSERT).with(Signals::ERROR),
    )
    .one_liners(),
    row::<terraform::Terraform>("terraform", b"E\xe2", Signals::NONE),
    row::<ocaml::OCaml>("ocaml", b"F", Signals::NONE),
    row::<ghc::Ghc>("ghc", b"", Signals::PLACE),
    row::<dialyzer::Dialyzer>("dialyzer", b"P", Signals::PLACE),
    row::<tsc::Tsc>("tsc", b"", Signals::ERROR).one_liners(),
    row::<grouped::Grouped>("grouped", b"", Signals::PLACE).one_liners(),
    row::<diagnostic::Diagnostic>("diagnostic", b"", Signals::PLACE).one_liners(),
    row::<ctest::CTest>("ctest", b"0123456789", Signals::NONE),
    // Last, to drop what the others said.
    row::<github::GitHub>("github", b":", Signals::NONE),
];

/// The names of the formats that a [`Digester`](crate::Digester) knows.
pub fn formats() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.name)
}

/// The formats at work on one log.
#[derive(Debug)]
pub(crate) struct Formats {
    readers: Vec<Box<dyn Format>>,
    /// For each byte a line may begin with, the formats to ask, as a bit set.
    by_start: Box<[u64; 256]>,
    /// For each signal, the formats to ask, as a bit set.
    by_signal: [u64; Signals::COUNT],
    /// The formats whose failures are one line each, as a bit set.
    one_liners: u64,
    /// The formats that are open, as a bit set; they only change when they see a line.
    open: u64,
    /// Parts of the line that comes next were read already.
    read_in_parts: bool,
}

impl Formats {
    /// All formats of the table.
    pub(crate) fn all() -> Self {
        Self::those(|_| true)
    }

    /// One format alone; none of that name is no format at all.
    pub(crate) fn only(name: &str) -> Self {
        Self::those(|row| row.name == name)
    }

    /// No format: the general signals alone.
    pub(crate) fn none() -> Self {
        Self::those(|_| false)
    }

    fn those(wanted: impl Fn(&Row) -> bool) -> Self {
        let rows = || TABLE.iter().filter(|row| wanted(row)).enumerate();
        let asking = |asks: &dyn Fn(&Row) -> bool| {
            rows().fold(0, |asked, (index, row)| {
                asked | u64::from(asks(row)) << index
            })
        };
        Self {
            readers: rows().map(|(_, row)| (row.make)()).collect(),
            by_start: Box::new(std::array::from_fn(|byte| {
                asking(&|row| row.starts.iter().any(|&start| usize::from(start) == byte))
            })),
            by_signal: std::array::from_fn(|signal| {
                asking(&|row| row.signals.set() >> signal & 1 == 1)
            }),
            one_liners: asking(&|row| row.one_liners),
            open: 0,
            read_in_parts: false,
        }
    }

    /// Shows a part of a line that is too long, before what is kept of that line is shown.
    pub(crate) fn part(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) {
        self.read_in_parts = false;
        for (index, reader) in self.readers.iter_mut().enumerate() {
            if reader.part(bytes, number, findings) {
                self.read_in_parts = true;
                self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
                return;
            }
        }
    }

    /// Shows a line to those who care, until one claims it.
    pub(crate) fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if std::mem::take(&mut self.read_in_parts) {
            return Claim::Chaff;
        }
        let start = line
            .body()
            .as_bytes()
            .first()
            .map_or(0, |&byte| usize::from(byte));
        let mut asked = self.by_start[start] | self.open;
        for signal in bits(line.signals.set()) {
            asked |= self.by_signal[signal];
        }
        if findings.is_flooded() {
            asked &= !self.one_liners;
        }
        for index in bits(asked) {
            let Some(reader) = self.readers.get_mut(index) else {
                break;
            };
            let claim = reader.line(line, findings);
            self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            if claim != Claim::Foreign {
                return claim;
            }
        }
        Claim::Foreign
    }

    /// The log has ended.
    pub(crate) fn finish(mut self, findings: &mut Findings) {
        for reader in &mut self.readers {
            reader.finish(findings);
        }
    }
}

/// The numbers of the bits in a set, from the lowest.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = usize::try_from(set.trailing_zeros()).ok()?;
        set &= set.checked_sub(1)?;
        Some(bit)
    })
}
