//! `cargo xtask TASK`: the tasks that developers and `.ci/run` carry out in this repository, each in
//! the module of its name. Building and using Selvedge must not require anything here.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal, without any other output"
)]

mod bench;
mod book;
mod chaos;
mod chart;
mod dist;
mod e2e;
mod generate;
mod local_model;
mod npm;
mod program;
mod release;
mod stages;
mod tidy;
mod trust;
mod ui_test;
mod verify;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// Result of a task.
type XtaskResult<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const HELP: &str = "\
cargo xtask TASK

  verify               check format, lints, tests, documentation, generated files, tidy, licences
  tidy                 check the conventions that no other tool checks
  licences             check that the licence of every dependency is permitted
  generate [--check]   write (or only compare) docs/schemas and docs/generated
  e2e [ARGS…]          run the end-to-end tests with the programs that they need; ARGS are passed to them;
                       --newest first: with the newest version of every agent, for a scheduled job
                       --short: without what every agent would repeat of one program of ours, as in CI
                       --install: installs what the tests need, and runs none
  ui-test [ARGS…]      test the dashboard in a browser (chromium, chromedriver); ARGS are passed to the tests
  chaos [ARGS…]        inject faults into real hubs and workers; without ARGS, the short form
  chart                check the Helm chart and the alert rules (needs helm, kubeconform, promtool)
  dist [--target TRIPLE]… [--program PATH] [--output DIR]
                       write the packages of a release: archive, wheel, npm packages, Debian package, SBOM, checksums
  dist index|attest|image ARGS…
                       checksums and the files of Homebrew and the AUR; an attestation by Selvedge; container images
  release cut VERSION [--dry-run]
                       set the version, cut the changelog, commit and tag
  release check TAG | notes
                       check that a tag is the version; print the section of the changelog
  book                 build the documentation with mdBook and check its links
  local-model [ARGS…]  run one small task with a real model: from a package of pip, from --gguf FILE, or from
                       --server URL --model NAME
  trust [WORD]         measure and write the tables of docs/explanation/trust-measured.md whose titles contain the word
  wild                 try Selvedge in real projects from the package registries, and write the table of
                       docs/explanation/real-projects.md
  bench [--long] [--program PATH] [start|attempts|changed|green|rooms|sandbox|digest|memory]
                       measure the table of docs/explanation/performance.md; --long uses floods of 10 GB;
                       --program measures this build of selvedge instead of the checkout's";

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
        ["chart"] => chart::run(),
        ["dist", rest @ ..] => dist::run(rest),
        ["release", rest @ ..] => release::run(rest),
        ["book"] => book::run(),
        ["local-model", rest @ ..] => local_model::run(rest),
        ["trust"] => trust::run(""),
        ["trust", word] => trust::run(word),
        ["wild"] => trust::run_wild(),
        ["bench", rest @ ..] => bench::run(rest),
        [bench::STAMP, path] => bench::write_stamp(path),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown task\n\n{HELP}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
