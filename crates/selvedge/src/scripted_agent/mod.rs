//! An agent that follows a script and uses no model: `selvedge __agent --script FILE`. It is a real program with real
//! prompts, files and processes, for tests of everything that runs agents and for `selvedge demo` (`--demo`). A script
//! can make it fail in the ways that agents do.
//!
//! ```text
//! selvedge __agent --script FILE | --demo  [--speak claude|plain]  [--log FILE]
//! ```
//!
//! Other arguments belong to the program that it imitates, and are ignored; the prompt is read from standard input, or
//! else from the last of them. `script.rs` lists the possible steps.

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
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::options::{ScriptSource, ScriptedAgentOptions};
use self::prompt::ReceivedPrompt;
pub(crate) use self::script::{AgentScript, FileText, ScriptStep};
use self::step_runner::StepRunner;

/// Exit code for an invalid script: the test is wrong, not the program under test.
const EXIT_BAD_SCRIPT: u8 = 70;

/// Why the agent cannot follow its script.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptedAgentError {
    #[error("{0} needs a value")]
    MissingValue(String),
    #[error("--speak takes claude or plain")]
    UnknownFormat,
    #[error("--script FILE or --demo is needed")]
    NoScript,
    /// The script or the log.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    InvalidScript {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("prompt: {0}")]
    Prompt(#[source] io::Error),
    #[error("cannot write output: {0}")]
    Output(#[source] io::Error),
    #[error("step {number}: {source}")]
    Step { number: usize, source: io::Error },
}

/// Runs the agent; `args` are those after `__agent`, and `demo` is the script of `--demo`.
pub(crate) fn main(args: &[OsString], demo: fn() -> AgentScript) -> ExitCode {
    match run_agent(args, demo) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // There is nowhere else to report errors.
            let _ = writeln!(io::stderr(), "scripted agent: {error}");
            ExitCode::from(EXIT_BAD_SCRIPT)
        }
    }
}

fn run_agent(args: &[OsString], demo: fn() -> AgentScript) -> Result<u8, ScriptedAgentError> {
    let options = ScriptedAgentOptions::parse(args)?;
    let script = match &options.source {
        ScriptSource::File(path) => AgentScript::read(path)?,
        ScriptSource::Demo => demo(),
    };
    let prompt = ReceivedPrompt::receive(&options.rest).map_err(ScriptedAgentError::Prompt)?;
    if let Some(log) = &options.log {
        prompt
            .append_to_log(log)
            .map_err(|source| ScriptedAgentError::File {
                path: log.clone(),
                source,
            })?;
    }
    let mut writer = options.speak.session_writer();
    let mut runner = StepRunner {
        workspace: Path::new("."),
        writer: writer.as_mut(),
    };
    runner.run_steps(script.attempt_steps(prompt.attempt_number()))
}

/// Runs one attempt without a prompt; discards its output.
#[cfg(test)]
pub(crate) fn run_silently(
    script: &AgentScript,
    attempt: usize,
    workspace: &Path,
) -> Result<u8, ScriptedAgentError> {
    let mut writer = plain::PlainSessionWriter::new(io::sink());
    StepRunner {
        workspace,
        writer: &mut writer,
    }
    .run_steps(script.attempt_steps(attempt))
}
