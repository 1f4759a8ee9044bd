//! Starting a program behind walls: the hidden face `__wall` of this program is started there, is
//! told over a socket what it is to become, and says whether it did. In a process namespace it stays
//! as the one that adopts orphans and tells how the program ended; the process that holds the
//! namespace and this keeper belong to the walls, and are none of the program's tree.
//! In a container it is the same, but that the face calls over a socket which it is shown there.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use selvedge_core::model::Backend;

use super::contained::Container;
use super::control::Control;
use super::launch::{Found, Launched, explain, failure, number_of};
use super::temporary::Temporary;
use crate::process::command::TAG_VARIABLE;
use crate::process::ended::{Exit, SpawnFailure, SpawnFailureKind};
use crate::process::proc;
use crate::sandbox::{Job, Plan, Word, arguments, find_bubblewrap, this_program};

/// Who speaks for a program that runs in a process namespace of its own.
pub(super) struct Keeper {
    control: Control,
    /// The processes that are the walls themselves.
    pub(super) walls: Vec<i32>,
    /// The first process of the container, where it is one and can be seen.
    pub(super) container: Option<i32>,
    /// Whether it is one: its processes need not be below ours.
    pub(super) is_container: bool,
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

/// What was set up around a program, and is cleared away after it.
pub(super) struct Surroundings {
    temporary: Temporary,
    container: Option<Container>,
}

impl Surroundings {
    /// Clears everything away; an error names a container that stays.
    pub(super) fn clear(self) -> Result<(), String> {
        let removed = self.container.map(|container| {
            let name = container.name().to_owned();
            container.remove().map_err(|why| format!("{name}: {why}"))
        });
        drop(self.temporary);
        removed.unwrap_or(Ok(()))
    }
}

/// A face that runs behind walls, waiting for its job.
struct Standing {
    /// Who was started: the face itself, or who holds its namespace.
    holder: Child,
    control: Control,
    /// The face's process id in a container, where it is known.
    face: Option<i32>,
}

/// Starts it, with its standard input, output and error.
pub(super) fn launch(
    plan: &Plan,
    found: &Found,
    streams: [OwnedFd; 3],
) -> Result<Launched, SpawnFailure> {
    let lacking = |what: &str, error: &io::Error| unbuilt(&format!("{what}: {error}"));
    let temporary = Temporary::make();
    let temporary = temporary.map_err(|error| lacking("no place for temporary files", &error))?;
    let mut said = tempfile::tempfile().map_err(|error| lacking("no file", &error))?;
    let in_container = plan.backend.is_container();
    let container = in_container.then(|| Container::note(plan, temporary.path()));
    let container = container
        .transpose()
        .map_err(|error| lacking("a container cannot be written down", &error))?;
    let surroundings = Surroundings {
        temporary,
        container,
    };
    let standing = raise(plan, found, &surroundings, &mut said);
    let launched = standing
        .and_then(|standing| enter(plan, found, streams, standing, &mut said, &surroundings));
    match launched {
        Ok((program, keeper)) => Ok(Launched {
            program,
            keeper,
            surroundings: Some(surroundings),
        }),
        Err(failure) => {
            // Whether or not it could be cleared away, this is what there is to say.
            let _ = surroundings.clear();
            Err(failure)
        }
    }
}

/// Starts the face.
fn raise(
    plan: &Plan,
    found: &Found,
    surroundings: &Surroundings,
    said: &mut File,
) -> Result<Standing, SpawnFailure> {
    let temporary = surroundings.temporary.path();
    if let Some(container) = &surroundings.container {
        let called = container.start(plan, found, temporary, said);
        let called = called.map_err(|error| match error.kind() {
            io::ErrorKind::NotConnected => unbuilt(&words_of(said)),
            _ => unbuilt(&error.to_string()),
        })?;
        return Ok(Standing {
            holder: called.client,
            control: Control::over(called.socket),
            face: called.face,
        });
    }
    let lacking = |what: &str, error: &io::Error| unbuilt(&format!("{what}: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(|error| lacking("no socket", &error))?;
    let face = this_program(temporary).map_err(|error| lacking("no program", &error))?;
    let mut command = if plan.backend == Backend::Bubblewrap {
        let program = find_bubblewrap().ok_or_else(|| unbuilt("bwrap is not there"))?;
        let mut command = Command::new(program);
        command.args(arguments(plan, temporary, &face));
        command
    } else {
        let mut command = Command::new(&face);
        command.arg("__wall");
        command
    };
    let tag = found.env.iter().find(|(name, _)| name == TAG_VARIABLE);
    let said = said.try_clone();
    let holder = command
        .env_clear()
        .envs(tag.map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(said.map_err(|error| lacking("no file", &error))?)
        .process_group(0)
        .spawn()
        .map_err(|error| lacking("they cannot be started", &error))?;
    Ok(Standing {
        holder,
        control: Control::over(ours),
        face: None,
    })
}

/// Lets the face become the program, or start it; its number, and who tells of it.
fn enter(
    plan: &Plan,
    found: &Found,
    streams: [OwnedFd; 3],
    standing: Standing,
    said: &mut File,
    surroundings: &Surroundings,
) -> Result<(i32, Option<Keeper>), SpawnFailure> {
    let Standing {
        holder: child,
        mut control,
        face,
    } = standing;
    let keeps = plan.backend != Backend::Landlock;
    let job = Job::new(plan, found, surroundings.temporary.path(), keeps);
    let followed = follow(&mut control, &job, &streams);
    // Only the program shall hold them: their end is the end of its output.
    drop(streams);
    match followed {
        Followed::Started => {}
        Followed::Failed(errno) => {
            reap(child);
            return Err(unstarted(plan, found, errno));
        }
        Followed::Unbuilt(why) => {
            reap(child);
            return Err(unbuilt(&why.unwrap_or_else(|| words_of(said))));
        }
    }
    let holder = number_of(&child);
    let unheard = |error: io::Error| unbuilt(&format!("no socket: {error}"));
    control.never_wait().map_err(unheard)?;
    if !keeps {
        return Ok((holder, None));
    }
    let in_container = plan.backend.is_container();
    let keeper = face.or_else(|| {
        let first = || proc::children(holder).first().copied();
        (!in_container).then(first).flatten()
    });
    let program = keeper.and_then(|keeper| proc::children(keeper).first().copied());
    let walls = [Some(holder), keeper].into_iter().flatten().collect();
    let keeper = Keeper {
        control,
        walls,
        container: in_container.then_some(face).flatten(),
        is_container: in_container,
        program,
    };
    Ok((program.unwrap_or(holder), Some(keeper)))
}

/// Why the program itself could not be started.
fn unstarted(plan: &Plan, found: &Found, errno: i32) -> SpawnFailure {
    let error = io::Error::from_raw_os_error(errno);
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    match &plan.contained {
        // What lies at its path here says nothing of the image.
        Some(contained) if is_missing => {
            let name = found.name.to_string_lossy();
            let message = format!("no program {name} in the image {}", contained.image);
            failure(SpawnFailureKind::NotFound, Some(errno), message)
        }
        _ if is_missing && !found.name.as_encoded_bytes().contains(&b'/') => {
            let message = format!("no program {} in PATH", found.name.to_string_lossy());
            failure(SpawnFailureKind::NotFound, Some(errno), message)
        }
        _ => explain(&error, &plan.lies_here(&found.cwd.join(&found.program))),
    }
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
