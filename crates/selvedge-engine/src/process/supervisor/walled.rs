//! Starting a program behind walls: the hidden face `__wall` of this program is started there, is
//! told over a socket what it is to become, and says whether it did. In a process namespace it stays
//! as the one that adopts orphans and tells how the program ended; the process that holds the
//! namespace and this keeper belong to the walls, and are none of the program's tree.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use selvedge_core::model::Backend;
use tempfile::TempDir;

use super::control::Control;
use super::launch::{Found, Launched, explain, failure, number_of};
use crate::process::command::TAG_VARIABLE;
use crate::process::ended::{Exit, SpawnFailure, SpawnFailureKind};
use crate::process::proc;
use crate::sandbox::{Job, Plan, TEMPORARY, Word, arguments, find_bubblewrap};

/// The folders of a session's own temporary files lie here.
const TEMPORARY_ROOT: &str = "/tmp";

/// Who speaks for a program that runs in a process namespace of its own.
pub(super) struct Keeper {
    control: Control,
    /// The processes that are the walls themselves.
    pub(super) walls: Vec<i32>,
    /// The program, unless it was gone too soon to be seen.
    pub(super) program: Option<i32>,
}

impl Keeper {
    /// What it said since the last look; `None` once it is gone.
    pub(super) fn hear(&mut self) -> Option<Vec<Exit>> {
        let words: Vec<Word> = match self.control.receive_ready() {
            Ok(words) => words,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(Vec::new()),
            Err(_) => return None,
        };
        let exits = words.into_iter().filter_map(|word| match word {
            Word::Exited(exit) => Some(exit),
            Word::Entered | Word::Running | Word::Failed { .. } => None,
        });
        Some(exits.collect())
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// Starts it, with its standard input, output and error.
pub(super) fn launch(
    plan: &Plan,
    found: &Found,
    streams: [OwnedFd; 3],
) -> Result<Launched, SpawnFailure> {
    let lacking = |what: &str, error: &io::Error| unbuilt(&format!("{what}: {error}"));
    let temporary = temporary().map_err(|error| lacking("no place for temporary files", &error))?;
    let (ours, theirs) = UnixStream::pair().map_err(|error| lacking("no socket", &error))?;
    let mut said = tempfile::tempfile().map_err(|error| lacking("no file", &error))?;
    let face = std::env::current_exe().map_err(|error| lacking("no program", &error))?;
    let mut command = if plan.backend == Backend::Bubblewrap {
        let program = find_bubblewrap().ok_or_else(|| unbuilt("bwrap is not there"))?;
        let mut command = Command::new(program);
        command.args(arguments(plan, temporary.path(), &face));
        command
    } else {
        let mut command = Command::new(&face);
        command.arg("__wall");
        command
    };
    let tag = found.env.iter().find(|(name, _)| name == TAG_VARIABLE);
    let child = command
        .env_clear()
        .envs(tag.map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(
            said.try_clone()
                .map_err(|error| lacking("no file", &error))?,
        )
        .process_group(0)
        .spawn()
        .map_err(|error| lacking("they cannot be started", &error))?;
    drop(command);
    let keeps = plan.backend == Backend::Bubblewrap;
    let job = Job::new(plan, found, temporary.path(), keeps);
    let mut control = Control::over(ours);
    let followed = follow(&mut control, &job, &streams);
    // Only the program shall hold them: their end is the end of its output.
    drop(streams);
    match followed {
        Followed::Started => {}
        Followed::Failed(errno) => {
            reap(child);
            return Err(explain(
                &io::Error::from_raw_os_error(errno),
                &found.program,
            ));
        }
        Followed::Unbuilt(why) => {
            reap(child);
            return Err(unbuilt(&why.unwrap_or_else(|| words_of(&mut said))));
        }
    }
    let holder = number_of(&child);
    control
        .never_wait()
        .map_err(|error| lacking("no socket", &error))?;
    if !keeps {
        return Ok(Launched {
            program: holder,
            keeper: None,
            temporary: Some(temporary),
        });
    }
    let keeper = proc::children(holder).first().copied();
    let program = keeper.and_then(|keeper| proc::children(keeper).first().copied());
    let walls = [Some(holder), keeper].into_iter().flatten().collect();
    Ok(Launched {
        program: program.unwrap_or(holder),
        keeper: Some(Keeper {
            control,
            walls,
            program,
        }),
        temporary: Some(temporary),
    })
}

/// How far a face came.
enum Followed {
    Started,
    /// The program could not be started, by this error.
    Failed(i32),
    /// It never stood behind walls, for this reason if it said one.
    Unbuilt(Option<String>),
}

fn follow(control: &mut Control, job: &Job, streams: &[OwnedFd]) -> Followed {
    if let Err(error) = control.hand_over(job, streams) {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        return Followed::Unbuilt((!gone).then(|| error.to_string()));
    }
    let mut entered = false;
    loop {
        match control.receive::<Word>() {
            Ok(Some(Word::Entered)) => entered = true,
            Ok(Some(Word::Running)) => return Followed::Started,
            Ok(Some(Word::Failed {
                errno: Some(errno), ..
            })) if entered => {
                return Followed::Failed(errno);
            }
            Ok(Some(Word::Failed { message, .. })) => return Followed::Unbuilt(Some(message)),
            // It became the program, which closed the socket.
            Ok(None) if entered && !job.keep => return Followed::Started,
            Ok(Some(Word::Exited(_)) | None) | Err(_) => return Followed::Unbuilt(None),
        }
    }
}

fn unbuilt(why: &str) -> SpawnFailure {
    let message = format!("the sandbox cannot be built: {why}");
    failure(SpawnFailureKind::Sandbox, None, message)
}

/// What it printed instead.
fn words_of(said: &mut File) -> String {
    let mut words = String::new();
    let read = said
        .rewind()
        .and_then(|()| said.take(1_000).read_to_string(&mut words));
    match (read, words.trim()) {
        (Ok(_), words) if !words.is_empty() => words.to_owned(),
        _ => "it ended without a word".to_owned(),
    }
}

fn reap(mut child: Child) {
    // It has nothing left to do but to end.
    let _ = child.kill();
    let _ = child.wait();
}

/// A folder of the session's own, with one for each place of temporary files.
fn temporary() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("selvedge-")
        .tempdir_in(TEMPORARY_ROOT)?;
    for place in TEMPORARY {
        let name = Path::new(place)
            .strip_prefix("/")
            .unwrap_or(Path::new(place));
        let name = PathBuf::from(name.to_string_lossy().replace('/', "-"));
        std::fs::create_dir(folder.path().join(name))?;
    }
    Ok(folder)
}
