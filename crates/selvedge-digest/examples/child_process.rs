//! Runs a command, shows its output, and ends with the digest of what failed.
//!
//! `cargo run --example child_process -- cargo test`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "an example is an edge"
)]

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};

use selvedge_digest::{CommandStatus, DigestBudget, Digester, Hints};

fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, arguments @ ..] = words.as_slice() else {
        eprintln!("usage: child_process PROGRAM [ARGUMENT…]");
        return Ok(ExitCode::from(2));
    };
    // One pipe for both streams keeps their order.
    let (mut output, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the writing end, which must be closed for the pipe to end.
    drop(command);

    let mut digester = Digester::new(Hints::command(words.join(" ")));
    let mut chunk = [0; 16 * 1024];
    loop {
        let length = output.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        digester.write_all(&chunk[..length])?;
        io::stdout().write_all(&chunk[..length])?;
    }
    let code = child.wait()?.code();
    let analysis = digester.finish(code.map_or(CommandStatus::Unknown, CommandStatus::Code));
    let digest = analysis.render(DigestBudget::default());
    eprintln!("\n{}", digest.text);
    Ok(ExitCode::from(u8::try_from(code.unwrap_or(1)).unwrap_or(1)))
}
