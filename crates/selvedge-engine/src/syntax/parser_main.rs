//! The hidden face `__parse`: the parsers that are Rust crates, in a process of their own, because a
//! file may be made to exhaust the stack of any of them.

use std::fs;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use selvedge_syntax::{FileLanguage, parse};

use super::answer;

/// Stack of the thread that parses: what people write is never nested so deeply.
const STACK: usize = 64 << 20;

/// Reads `LANGUAGE`, `FILE` and `NAME` between tabs, a file a line, from standard input, and answers
/// on standard output as soon as each is known.
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
