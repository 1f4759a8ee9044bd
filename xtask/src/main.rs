//! `cargo xtask TASK`: the tasks that developers and `.ci/run` carry out in this repository, each in
//! the module of its name. Building and using Selvedge must not require anything here.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal, without any other output"
)]

mod bench;
mod chaos;
mod e2e;
mod generate;
mod local_model;
mod program;
mod stages;
mod tidy;
mod trust;
mod ui_test;
mod verify;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// Result of a task.
type XtaskResult<T = ()> = Result<T, Box<dyn Error>>;

const HELP: &str = "\
cargo xtask WORD

  verify               format, lints, tests, documentation, generated files, tidy, licences
  tidy                 the rules of the house that no other tool knows
  licences             every dependency's licence is one of ours to use
  generate [--check]   write (or compare) docs/schemas and docs/generated
  e2e [ARGS…]          the end-to-end suite, with the programs that it needs; ARGS go to it
  ui-test [ARGS…]      the dashboard in a real browser (chromium, chromedriver); ARGS go to the tests
  chaos [ARGS…]        faults injected into real hubs and workers; without ARGS the short form
  local-model [ARGS…]  one tiny task through the loop with a real model: that of a package from pip, or
                       --gguf FILE, or --server URL --model NAME
  trust [WORD]         the tables of docs/trust-measured.md whose titles contain the word, measured anew and written
  bench [--long] [--program PATH] [start|attempts|digest|memory]
                       the table of docs/performance.md; --long floods with 10 GB; --program
                       measures that build of selvedge, not this checkout's";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["verify"] => verify::run(),
        ["tidy"] => tidy::run(),
        ["licences"] => tidy::licences::run(),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["e2e", rest @ ..] => e2e::run(rest),
        ["ui-test", rest @ ..] => ui_test::run(rest),
        ["chaos", rest @ ..] => chaos::run(rest),
        ["local-model", rest @ ..] => local_model::run(rest),
        ["trust"] => trust::run(""),
        ["trust", word] => trust::run(word),
        ["bench", rest @ ..] => bench::run(rest),
        [bench::STAMP, path] => bench::write_stamp(path),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("there is no such word\n\n{HELP}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
