//! Runs the steps of one attempt.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::script::{ScriptStep, ScriptedResult};
use super::session_writer::SessionWriter;
use super::{ScriptedAgentError, daemon, flood};

/// How often to check whether a file exists.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs steps in a workspace, and reports them to a writer.
pub(super) struct StepRunner<'a> {
    pub(super) workspace: &'a Path,
    pub(super) writer: &'a mut dyn SessionWriter,
}

enum StepOutcome {
    Continue,
    /// The final record was written. Further steps still run, as in an agent that lingers.
    Ended(u8),
    Exit(u8),
}

impl StepRunner<'_> {
    /// Runs the steps; returns the exit code. A step that cannot be run is an error of the script; the message names
    /// the step.
    pub(super) fn run_steps(&mut self, steps: &[ScriptStep]) -> Result<u8, ScriptedAgentError> {
        let output_error = ScriptedAgentError::Output;
        self.writer.write_start().map_err(output_error)?;
        let mut ended = None;
        for (number, step) in (1..).zip(steps) {
            match self
                .run_step(step)
                .map_err(|source| ScriptedAgentError::Step { number, source })?
            {
                StepOutcome::Continue => {}
                StepOutcome::Ended(code) => ended = Some(code),
                StepOutcome::Exit(code) => return Ok(code),
            }
        }
        ended.map_or_else(
            || {
                self.write_end(&ScriptedResult::default())
                    .map_err(output_error)
            },
            Ok,
        )
    }

    fn run_step(&mut self, step: &ScriptStep) -> io::Result<StepOutcome> {
        match step {
            ScriptStep::Say(text) => self.writer.write_text(text)?,
            ScriptStep::Write(file) => {
                let input = json!({"content": file.text});
                self.edit_file("Write", &file.path, input, |path| {
                    write_file(path, &file.text)
                })?;
            }
            ScriptStep::Append(file) => {
                let input = json!({"new_string": file.text});
                self.edit_file("Edit", &file.path, input, |path| {
                    append_to_file(path, &file.text)
                })?;
            }
            ScriptStep::Replace { path, from, to } => {
                let input = json!({"old_string": from, "new_string": to});
                self.edit_file("Edit", path, input, |path| replace_in_file(path, from, to))?;
            }
            ScriptStep::Delete(path) => {
                let input = json!({"command": format!("rm -r {}", path.display())});
                self.edit_file("Bash", path, input, delete_path)?;
            }
            ScriptStep::Touch(path) => write_file(&self.resolve_path(path), "")?,
            ScriptStep::Run(argv) => self.run_program(argv)?,
            ScriptStep::SleepMs(ms) => thread::sleep(Duration::from_millis(*ms)),
            ScriptStep::WaitForFile(path) => wait_for_file(&self.resolve_path(path)),
            ScriptStep::Hang(true) => loop {
                thread::park();
            },
            ScriptStep::Flood(flood) => flood::write_flood(flood, self.writer)?,
            ScriptStep::Daemon(daemon) => {
                let write_to = self.resolve_path(&daemon.write_to);
                daemon::spawn_daemon(daemon, &write_to)?;
                wait_for_file(&write_to);
            }
            ScriptStep::InvalidUtf8(true) => self.writer.write_invalid_utf8()?,
            ScriptStep::DieMidRecord(true) => {
                self.writer.write_truncated()?;
                return Ok(StepOutcome::Exit(1));
            }
            ScriptStep::Hang(false)
            | ScriptStep::InvalidUtf8(false)
            | ScriptStep::DieMidRecord(false) => {}
            ScriptStep::Exit(code) => return Ok(StepOutcome::Exit(*code)),
            ScriptStep::Result(ending) => return Ok(StepOutcome::Ended(self.write_end(ending)?)),
        }
        Ok(StepOutcome::Continue)
    }

    /// Writes the final record; returns the exit code of the imitated program.
    fn write_end(&mut self, ending: &ScriptedResult) -> io::Result<u8> {
        self.writer.write_result(ending)?;
        Ok(u8::from(ending.is_failure()))
    }

    /// Changes a file, and reports the change as a tool call.
    fn edit_file(
        &mut self,
        tool: &str,
        path: &Path,
        mut input: Value,
        change: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = path.display();
        input["file_path"] = json!(name.to_string());
        self.writer.write_tool_start(tool, &input)?;
        change(&self.resolve_path(path))
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        self.writer
            .write_tool_end(&format!("{name} changed"), false)
    }

    fn run_program(&mut self, argv: &[String]) -> io::Result<()> {
        let (program, args) = argv
            .split_first()
            .ok_or_else(|| io::Error::other("no program to run"))?;
        self.writer
            .write_tool_start("Bash", &json!({"command": argv.join(" ")}))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.workspace)
            .stdin(Stdio::null());
        let ran = command.output()?;
        let output = [ran.stdout, ran.stderr].concat();
        self.writer
            .write_tool_end(&String::from_utf8_lossy(&output), !ran.status.success())
    }

    fn resolve_path(&self, path: &Path) -> PathBuf {
        self.workspace.join(path)
    }
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

fn append_to_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn replace_in_file(path: &Path, from: &str, to: &str) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    match text.split_once(from) {
        Some((_, after)) if after.contains(from) => {
            Err(io::Error::other(format!("`{from}` occurs more than once")))
        }
        Some((before, after)) => fs::write(path, [before, to, after].concat()),
        None => Err(io::Error::other(format!("`{from}` not found"))),
    }
}

fn delete_path(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn wait_for_file(path: &Path) {
    while !path.exists() {
        thread::sleep(POLL_INTERVAL);
    }
}
