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

mod claude;
mod daemon;
mod flood;
mod options;
mod plain;
mod prompt;
mod script;
mod session_writer;
mod step_runner;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use self::options::{ScriptSource, ScriptedAgentOptions};
use self::prompt::ReceivedPrompt;
pub(crate) use self::script::{AgentScript, FileText, ScriptStep};
use self::step_runner::StepRunner;
use crate::demo;

/// Exit code of an agent whose script cannot be followed: the test is at fault, not the subject.
const EXIT_BAD_SCRIPT: u8 = 70;

/// Runs the agent; `args` are those after `__agent`.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    match run_agent(args) {
        Ok(code) => ExitCode::from(code),
        Err(trouble) => {
            // Standard error is all that is left to say it on.
            let _ = writeln!(io::stderr(), "scripted agent: {trouble}");
            ExitCode::from(EXIT_BAD_SCRIPT)
        }
    }
}

fn run_agent(args: &[OsString]) -> Result<u8, String> {
    let options = ScriptedAgentOptions::parse(args)?;
    let script = match &options.source {
        ScriptSource::File(path) => AgentScript::read(path)?,
        ScriptSource::Demo => demo::script(),
    };
    let prompt =
        ReceivedPrompt::receive(&options.rest).map_err(|error| format!("prompt: {error}"))?;
    if let Some(log) = &options.log {
        prompt
            .append_to_log(log)
            .map_err(|error| format!("{}: {error}", log.display()))?;
    }
    let mut voice = options.speak.session_writer();
    let mut actor = StepRunner {
        workspace: Path::new("."),
        writer: voice.as_mut(),
    };
    actor.run_steps(script.attempt_steps(prompt.attempt_number()))
}

/// One attempt without a prompt and without anybody who listens.
#[cfg(test)]
pub(crate) fn run_silently(
    script: &AgentScript,
    attempt: usize,
    workspace: &Path,
) -> Result<u8, String> {
    let mut voice = plain::PlainSessionWriter::new(io::sink());
    StepRunner {
        workspace,
        writer: &mut voice,
    }
    .run_steps(script.attempt_steps(attempt))
}
