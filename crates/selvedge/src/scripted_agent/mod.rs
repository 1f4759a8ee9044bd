//! An agent that does what a script says, and no model: `selvedge __agent --script FILE`. It is a
//! real program with a real prompt, real files and real processes, for the tests of whatever runs
//! agents, and for `selvedge demo` (`--demo`). On demand it misbehaves in the ways that agents do.
//!
//! ```text
//! selvedge __agent --script FILE | --demo  [--speak claude|plain]  [--log FILE]
//! ```
//!
//! Other arguments are taken for those of the program that it plays, and ignored; the prompt comes
//! on standard input, or else as the last of them. `script.rs` lists what a script can say.

mod act;
mod claude;
mod daemon;
mod flood;
mod options;
mod plain;
mod prompt;
mod script;
mod voice;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use self::act::Actor;
use self::options::{Options, Source};
use self::prompt::Prompt;
pub(crate) use self::script::{FileText, Script, Step};
use crate::demo;

/// Exit code of an agent whose script cannot be followed: the test is at fault, not the subject.
const BAD_SCRIPT: u8 = 70;

/// Runs the agent; `args` are those after `__agent`.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    match follow(args) {
        Ok(code) => ExitCode::from(code),
        Err(trouble) => {
            // Standard error is all that is left to say it on.
            let _ = writeln!(io::stderr(), "scripted agent: {trouble}");
            ExitCode::from(BAD_SCRIPT)
        }
    }
}

fn follow(args: &[OsString]) -> Result<u8, String> {
    let options = Options::parse(args)?;
    let script = match &options.source {
        Source::File(path) => Script::read(path)?,
        Source::Demo => demo::script(),
    };
    let prompt = Prompt::receive(&options.rest).map_err(|error| format!("prompt: {error}"))?;
    if let Some(log) = &options.log {
        prompt
            .log(log)
            .map_err(|error| format!("{}: {error}", log.display()))?;
    }
    let mut voice = options.speak.voice();
    let mut actor = Actor {
        workspace: Path::new("."),
        voice: voice.as_mut(),
    };
    actor.perform(script.attempt(prompt.attempt()))
}

/// One attempt without a prompt and without anybody who listens.
#[cfg(test)]
pub(crate) fn rehearse(script: &Script, attempt: usize, workspace: &Path) -> Result<u8, String> {
    let mut voice = plain::Plain::new(io::sink());
    Actor {
        workspace,
        voice: &mut voice,
    }
    .perform(script.attempt(attempt))
}
