//! The agent's command line. It is not parsed with clap, because all other arguments belong to the program that the
//! agent imitates.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use super::ScriptedAgentError;
use super::claude::ClaudeSessionWriter;
use super::plain::PlainSessionWriter;
use super::session_writer::SessionWriter;

/// The file for prompts if `--log` is not given.
const LOG_VARIABLE: &str = "SELVEDGE_AGENT_LOG";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScriptedAgentOptions {
    pub(super) source: ScriptSource,
    pub(super) speak: SessionFormat,
    pub(super) log: Option<PathBuf>,
    pub(super) rest: Vec<OsString>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScriptSource {
    File(PathBuf),
    Demo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionFormat {
    Claude,
    Plain,
}

impl SessionFormat {
    pub(super) fn session_writer(self) -> Box<dyn SessionWriter> {
        let out = io::stdout();
        match self {
            Self::Claude => Box::new(ClaudeSessionWriter::new(out)),
            Self::Plain => Box::new(PlainSessionWriter::new(out)),
        }
    }
}

impl ScriptedAgentOptions {
    pub(super) fn parse(args: &[OsString]) -> Result<Self, ScriptedAgentError> {
        let mut source = None;
        let mut speak = SessionFormat::Claude;
        let mut log = std::env::var_os(LOG_VARIABLE).map(PathBuf::from);
        let mut rest = Vec::new();
        let mut args = args.iter();
        while let Some(argument) = args.next() {
            let mut value = || {
                let missing = || ScriptedAgentError::MissingValue(argument.display().to_string());
                args.next().ok_or_else(missing)
            };
            match argument.to_str() {
                Some("--demo") => source = Some(ScriptSource::Demo),
                Some("--script") => source = Some(ScriptSource::File(value()?.into())),
                Some("--log") => log = Some(value()?.into()),
                Some("--speak") => {
                    speak = match value()?.to_str() {
                        Some("claude") => SessionFormat::Claude,
                        Some("plain") => SessionFormat::Plain,
                        _ => return Err(ScriptedAgentError::UnknownFormat),
                    }
                }
                _ => rest.push(argument.as_os_str().to_owned()),
            }
        }
        let source = source.ok_or(ScriptedAgentError::NoScript)?;
        Ok(Self {
            source,
            speak,
            log: log.filter(|path| path.as_os_str() != OsStr::new("")),
            rest,
        })
    }
}
