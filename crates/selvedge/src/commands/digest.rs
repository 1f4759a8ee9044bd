//! `selvedge digest`: digests a tool's output from standard input.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};

use selvedge_core::model::exit_code;
use selvedge_core::redact::Redactor;
use selvedge_digest::{CommandStatus, DigestBudget, Digester, Hints, PassingOutput};

use crate::cli::DigestArgs;
use crate::error::CliError;
use crate::output::{OutputFormat, json, print_notice};
use crate::secrets;
use crate::streams::write_output;

/// Size of a read, in bytes.
const CHUNK: usize = 256 << 10;

pub(super) fn run(args: &DigestArgs) -> Result<u8, CliError> {
    let exit = parse_exit(args.exit.as_deref())?;
    check_tokens(args.tokens)?;
    let redactor = secrets::host_redactor();
    let hints = args
        .cmd
        .as_deref()
        .map_or_else(Hints::default, Hints::command);
    let mut digester = Digester::new(hints);
    if let Some(path) = &args.passing_output {
        let mut passed = PassingOutput::default();
        let name = path.display();
        let file = File::open(path)
            .map_err(|error| CliError::usage(format!("--passing-output {name}: {error}")))?;
        copy(file, &mut passed, &name, &redactor)?;
        digester = digester.with_passing_output(passed);
    }
    let from = std::io::stdin().lock();
    if from.is_terminal() {
        print_notice(
            "waiting for a tool's output on standard input, until Ctrl-D; \
             a pipe provides it: `cargo test 2>&1 | selvedge digest`",
        );
    }
    copy(from, &mut digester, &"standard input", &redactor)?;
    let analysis = digester.finish(exit);
    match args.format {
        OutputFormat::Human => {
            let digest = analysis.render(DigestBudget::tokens(args.tokens)).text;
            write_output(format!("{}\n", digest.trim_end()).as_bytes());
        }
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&analysis),
    }
    Ok(exit_code::VERIFIED)
}

/// Copies everything, with secrets redacted.
fn copy(
    mut from: impl Read,
    to: &mut impl Write,
    name: &dyn std::fmt::Display,
    redactor: &Redactor,
) -> Result<(), CliError> {
    let (mut chunk, mut room) = (vec![0; CHUNK], Vec::new());
    let mut redaction = redactor.stream();
    loop {
        match from.read(&mut chunk) {
            Ok(0) => {
                room.clear();
                redaction.finish(&mut room);
                return to.write_all(&room).map_err(CliError::infrastructure);
            }
            Ok(length) => {
                let read = chunk.get(..length).unwrap_or_default();
                let decided = redaction.push(read, &mut room);
                to.write_all(decided).map_err(CliError::infrastructure)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(CliError::infrastructure(format!(
                    "cannot read {name}: {error}"
                )));
            }
        }
    }
}

/// The smallest budget with room for the status of the command and one location.
const MIN_TOKENS: usize = 20;

/// Refuses a budget in which no digest fits.
pub(super) fn check_tokens(tokens: usize) -> Result<(), CliError> {
    if tokens < MIN_TOKENS {
        return Err(CliError::usage(format!(
            "--tokens {tokens}: a digest needs at least {MIN_TOKENS} tokens"
        )));
    }
    Ok(())
}

/// Parses an exit status as shells report it: a code, or unknown. Codes above 128 are signals.
pub(super) fn parse_exit(text: Option<&str>) -> Result<CommandStatus, CliError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(CommandStatus::Unknown);
    };
    let code: u8 = text.parse().map_err(|_| {
        CliError::usage(format!(
            "--exit {text}: expected an exit code from 0 to 255, such as 0 or 101"
        ))
    })?;
    let code = i32::from(code);
    Ok(match code {
        code @ 129..=192 => CommandStatus::Signal(code - 128),
        code => CommandStatus::Code(code),
    })
}
