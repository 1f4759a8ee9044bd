//! Carries out the steps of one attempt.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::script::{Ending, Step};
use super::voice::Voice;
use super::{daemon, flood};

/// How often a file that is waited for is looked for.
const GLANCE: Duration = Duration::from_millis(5);

/// Whoever acts: where, and how they speak of it.
pub(super) struct Actor<'a> {
    pub(super) workspace: &'a Path,
    pub(super) voice: &'a mut dyn Voice,
}

enum Next {
    Step,
    /// The final record is out. Steps may follow all the same: an agent that lingers.
    Ended(u8),
    Exit(u8),
}

impl Actor<'_> {
    /// Does what the steps say and returns the exit code. A step that cannot be done is the
    /// script's mistake, and the error names it.
    pub(super) fn perform(&mut self, steps: &[Step]) -> Result<u8, String> {
        let mute = |error: io::Error| format!("nobody listens: {error}");
        self.voice.begin().map_err(mute)?;
        let mut ended = None;
        for (number, step) in (1..).zip(steps) {
            match self
                .step(step)
                .map_err(|error| format!("step {number}: {error}"))?
            {
                Next::Step => {}
                Next::Ended(code) => ended = Some(code),
                Next::Exit(code) => return Ok(code),
            }
        }
        ended.map_or_else(|| self.end(&Ending::default()).map_err(mute), Ok)
    }

    fn step(&mut self, step: &Step) -> io::Result<Next> {
        match step {
            Step::Say(text) => self.voice.say(text)?,
            Step::Write(file) => {
                let input = json!({"content": file.text});
                self.edit("Write", &file.path, input, |path| write(path, &file.text))?;
            }
            Step::Append(file) => {
                let input = json!({"new_string": file.text});
                self.edit("Edit", &file.path, input, |path| append(path, &file.text))?;
            }
            Step::Replace { path, from, to } => {
                let input = json!({"old_string": from, "new_string": to});
                self.edit("Edit", path, input, |path| replace(path, from, to))?;
            }
            Step::Delete(path) => {
                let input = json!({"command": format!("rm -r {}", path.display())});
                self.edit("Bash", path, input, delete)?;
            }
            Step::Touch(path) => write(&self.place(path), "")?,
            Step::Run(argv) => self.run(argv)?,
            Step::SleepMs(ms) => thread::sleep(Duration::from_millis(*ms)),
            Step::WaitForFile(path) => wait_for(&self.place(path)),
            Step::Hang(true) => loop {
                thread::park();
            },
            Step::Flood(flood) => flood::pour(flood, self.voice)?,
            Step::Daemon(daemon) => {
                let write_to = self.place(&daemon.write_to);
                daemon::leave_behind(daemon, &write_to)?;
                wait_for(&write_to);
            }
            Step::InvalidUtf8(true) => self.voice.garble()?,
            Step::DieMidRecord(true) => {
                self.voice.break_off()?;
                return Ok(Next::Exit(1));
            }
            Step::Hang(false) | Step::InvalidUtf8(false) | Step::DieMidRecord(false) => {}
            Step::Exit(code) => return Ok(Next::Exit(*code)),
            Step::Result(ending) => return Ok(Next::Ended(self.end(ending)?)),
        }
        Ok(Next::Step)
    }

    /// Says how it ended; the exit code is what the program that speaks so would return.
    fn end(&mut self, ending: &Ending) -> io::Result<u8> {
        self.voice.end(ending)?;
        Ok(u8::from(ending.failed()))
    }

    /// Does something to a file, and says so as an agent speaks of its tools.
    fn edit(
        &mut self,
        tool: &str,
        path: &Path,
        mut input: Value,
        change: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = path.display();
        input["file_path"] = json!(name.to_string());
        self.voice.tool_started(tool, &input)?;
        change(&self.place(path)).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        self.voice.tool_ended(&format!("{name} is changed"), false)
    }

    fn run(&mut self, argv: &[String]) -> io::Result<()> {
        let (program, args) = argv
            .split_first()
            .ok_or_else(|| io::Error::other("no program to run"))?;
        self.voice
            .tool_started("Bash", &json!({"command": argv.join(" ")}))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.workspace)
            .stdin(Stdio::null());
        let ran = command.output()?;
        let output = [ran.stdout, ran.stderr].concat();
        self.voice
            .tool_ended(&String::from_utf8_lossy(&output), !ran.status.success())
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.workspace.join(path)
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn replace(path: &Path, from: &str, to: &str) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    match text.split_once(from) {
        Some((_, after)) if after.contains(from) => Err(io::Error::other(format!(
            "`{from}` is there more than once"
        ))),
        Some((before, after)) => fs::write(path, [before, to, after].concat()),
        None => Err(io::Error::other(format!("`{from}` is not there"))),
    }
}

fn delete(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(GLANCE);
    }
}
