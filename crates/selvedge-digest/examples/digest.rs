//! Reads a log on its standard input and prints its digest.
//!
//! `cargo test 2>&1 | digest --cmd "cargo test" --exit 101`; without options it reads `DIGEST_CMD`,
//! `DIGEST_EXIT` and `DIGEST_PASSING_OUTPUT` from the environment. `--generic` uses general signals only.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an example is an edge"
)]

use std::env;
use std::fs::File;
use std::io::{self, Write};

use selvedge_digest::{CommandStatus, DigestBudget, Digester, Hints, PassingOutput, formats};

fn option(flag: &str, variable: &str) -> Option<String> {
    let mut arguments = env::args().skip_while(|argument| argument != flag);
    arguments
        .nth(1)
        .or_else(|| env::var(variable).ok())
        .filter(|value| !value.is_empty())
}

fn main() -> io::Result<()> {
    if env::args().any(|argument| argument == "--formats") {
        let names: Vec<_> = formats().collect();
        return writeln!(io::stdout(), "{}", names.join("\n"));
    }
    let hints = Hints {
        command: option("--cmd", "DIGEST_CMD"),
    };
    let exit = option("--exit", "DIGEST_EXIT").map_or(CommandStatus::Unknown, |code| {
        code.parse()
            .map_or(CommandStatus::Unknown, CommandStatus::Code)
    });
    let generic = env::args().any(|argument| argument == "--generic");
    let mut digester = if generic {
        Digester::without_formats()
    } else {
        Digester::new(hints)
    };
    if let Some(path) = option("--passing-output", "DIGEST_PASSING_OUTPUT") {
        let mut passed = PassingOutput::default();
        io::copy(&mut File::open(path)?, &mut passed)?;
        digester = digester.with_passing_output(passed);
    }
    io::copy(&mut io::stdin().lock(), &mut digester)?;
    let analysis = digester.finish(exit);
    let text = analysis.render(DigestBudget::default()).text;
    io::stdout().write_all(text.as_bytes())
}
