//! The hidden subcommand `__parse`: runs the parsers that are Rust crates in a separate process,
//! because a file may be crafted to overflow the stack of any of them.

use std::fs;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use selvedge_syntax::{FileLanguage, parse};

use super::answer;

/// Stack size of the parsing thread; hand-written code never nests deeply enough to exceed it.
const STACK: usize = 64 << 20;

/// Reads lines of `LANGUAGE`, `FILE` and `NAME`, separated by tabs, from standard input, and writes
/// each answer to standard output as soon as it is known.
pub fn run_parser() -> ExitCode {
    let thread = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(answer_requests);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn answer_requests() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut fields = line.splitn(3, '\t');
        let (Some(language), Some(file), Some(name)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let known = FileLanguage::ALL
            .into_iter()
            .find(|it| it.name() == language);
        let verdict = known.and_then(|language| parse(language, name, &fs::read(file).ok()?));
        if let Some(verdict) = verdict {
            writeln!(output, "{}", answer::format_answer(file, &verdict))?;
        }
    }
    Ok(())
}
