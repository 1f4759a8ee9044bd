//! What stands between a session and the rest of the machine.
//!
//! [`Walls`] know the profile and the places; for each command they make a `Plan`, plain data that
//! travels to the supervisor, and whoever builds them carries it out: the `bwrap` program
//! (`bubblewrap`), this program itself with Landlock (`landlock`), or a container engine
//! (`container`), and with all of them a filter of system calls (`seccomp`). What holds is never assumed: it is tried once for every boot
//! (`raise`), and said.
//!
//! Nothing here may make anything in a person's directories, and a run is never quietly without walls.

mod blame;
mod bubblewrap;
mod caches;
mod container;
mod face;
mod job;
mod landlock;
mod mounts;
mod places;
mod plan;
mod portable;
mod probe;
mod raise;
mod remembered;
mod seccomp;
mod steering;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_core::model::{AgentKind, Backend, Hold, Profile, Sandbox};

use crate::process::{Command, Supervisor, clear_containers, clear_temporary};
use crate::workspace::{ResultCache, RoomMount};
use caches::CacheAccess;
use places::{Places, real};
use plan::{Access, Moved, bytes};
use raise::SessionKind;

pub(crate) use blame::blame;
pub(crate) use bubblewrap::{TEMPORARY, arguments, name_of_temporary};
pub use caches::{AgentCaches, remove_folder};
pub(crate) use container::{Contained, Engine, Wanted};
pub use face::main as face;
pub(crate) use job::{Job, Word};
pub(crate) use plan::Plan;
pub(crate) use portable::this_program;
pub use probe::main as probe_face;
pub use raise::{Raised, Refused, Scene, raise};
pub(crate) use steering::Steering;

/// Walls of one kind, around one workspace.
#[derive(Debug, Clone)]
pub struct Walls {
    own: Arc<Own>,
}

#[derive(Debug, Clone)]
struct Own {
    backend: Backend,
    profile: Profile,
    workspace: PathBuf,
    /// Selvedge's own state: nobody inside may read it.
    state: PathBuf,
    /// What may be written beside.
    writable: Vec<PathBuf>,
    masked: Vec<PathBuf>,
    places: Places,
    /// Whose sessions these are.
    sessions: SessionKind,
    /// Where the caches of this workspace's agents are.
    agent_caches: PathBuf,
    contained: Option<Contained>,
    held: Sandbox,
    /// Whether a socket was among what may be written when the run began.
    opens_socket: bool,
    /// What is mounted at the workspace's path in its place.
    room: Option<RoomMounts>,
}

/// A tree that is mounted at the workspace's path, and what is mounted in it.
#[derive(Debug, Clone)]
pub(crate) struct RoomMounts {
    pub(crate) tree: PathBuf,
    pub(crate) mounts: Vec<RoomMount>,
}

impl Walls {
    /// What was seen to hold.
    pub fn held(&self) -> &Sandbox {
        &self.own.held
    }

    /// The same walls with a room in the place of the workspace. Only for walls that [`can_mount`](Self::can_mount).
    pub(crate) fn in_room(&self, room: RoomMounts) -> Self {
        let own = Own {
            room: Some(room),
            ..Own::clone(&self.own)
        };
        Self { own: own.into() }
    }

    /// Whether something else can be mounted at the workspace's path for all that a session can reach. A daemon behind
    /// a socket would see the workspace itself.
    pub(crate) fn can_mount(&self) -> bool {
        let own = &*self.own;
        let has_mounts = own.backend == Backend::Bubblewrap || own.backend.is_container();
        has_mounts && !own.opens_socket
    }

    /// What a command may reach, and the variables that walls move elsewhere.
    pub(crate) fn around(&self, command: &Command) -> (Plan, Vec<(OsString, OsString)>) {
        let own = &*self.own;
        let strict = own.profile == Profile::Strict;
        let run_dir = command.lock.as_deref().and_then(Path::parent);
        let program = command.argv.first().map(Path::new);
        let program = program.and_then(|path| path.file_name()?.to_str());
        let kept = command.agent.map_or_else(Vec::new, |kind| {
            own.places.made_for(kind, program.unwrap_or_default())
        });
        // A judge works elsewhere, in a folder of the run's: it writes nothing, here or there.
        let works_here = command.cwd.starts_with(&own.workspace);
        let elsewhere = Some(command.cwd.clone())
            .filter(|_| !works_here)
            .and_then(real);
        let here = Some(own.workspace.clone()).filter(|_| works_here);
        let opened: Vec<PathBuf> = here
            .into_iter()
            .chain(own.writable.iter().cloned())
            .chain(git_folder(&own.workspace))
            .chain(kept)
            .chain(command.opens.iter().cloned().filter_map(real))
            .collect();
        let caches = self.caches(command, works_here, &opened);
        let home = own.places.home.clone();
        let masked = own.masked.iter().cloned().filter_map(real);
        let masked = masked
            .chain(own.places.masked())
            .chain(own.places.of_others(command.agent))
            .chain(real(own.state.clone()))
            .chain(home.clone().filter(|_| strict))
            // What was asked to be writable is there; a cache is none of that.
            .filter(|path| !opened.contains(path));
        let is_seen = |path: &PathBuf| match (&own.room, path.strip_prefix(&own.workspace)) {
            // What is to be hidden in a room must be there, or it would be made there.
            (Some(room), Ok(below)) => room.tree.join(below).exists(),
            _ => true,
        };
        let masked: Vec<PathBuf> = masked.filter(is_seen).collect();
        let toolchains = if strict {
            own.places.toolchains()
        } else {
            Vec::new()
        };
        let shown = Self::named(command, run_dir)
            .into_iter()
            .chain(toolchains)
            .chain(elsewhere);
        // A container has a home of its own.
        let has_home = !strict && !own.backend.is_container();
        let shown = shown.chain(home.clone().filter(|home| has_home && is_temporary(home)));
        let shown = shown.filter(|path| {
            !masked.iter().any(|masked| {
                path.starts_with(masked) && Some(masked) != home.as_ref() && !is_in(run_dir, path)
            })
        });
        let is_in_room = |path: &PathBuf| own.room.is_some() && path.starts_with(&own.workspace);
        let pinned = own.places.pinned().into_iter();
        let pinned = pinned.filter(|path| !is_in_room(path));
        let mut plan = Plan {
            backend: own.backend,
            shown: bytes(shown),
            pinned: bytes(pinned.filter(|path| !own.writable.contains(path))),
            masked: bytes(masked),
            kept: bytes(
                home.into_iter()
                    .chain(own.places.lies(".config").and_then(real)),
            ),
            network: !strict || command.agent.is_some_and(speaks_to_a_model),
            strict,
            writable: bytes(opened.into_iter().chain(caches.writable.iter().cloned())),
            contained: own.contained.clone(),
            moved: own.moved(),
        };
        let kept = command.agent.and_then(|kind| own.places.moved_for(kind));
        let variables = kept.into_iter().chain(caches.variables.iter().cloned());
        let variables = variables.collect();
        caches.mount(&mut plan);
        (plan, variables)
    }

    /// The caches of tools that a command may write.
    fn caches(&self, command: &Command, works_here: bool, opened: &[PathBuf]) -> CacheAccess {
        let own = &*self.own;
        let can_mount = own.backend != Backend::Landlock;
        match own.sessions {
            _ if own.profile == Profile::Strict => CacheAccess::default(),
            SessionKind::Check => caches::for_checks(&own.places, &own.state, &command.env),
            SessionKind::Agent => {
                // What judges read is not written by the agents that they judge.
                let name = if works_here {
                    caches::OF_WORK
                } else {
                    caches::OF_JUDGES
                };
                let root = own.agent_caches.join(name);
                caches::for_agents(&own.places, &root, can_mount, opened, &command.env)
            }
        }
    }

    /// Folders outside of the workspace in which tools keep what they have made of it, for a room to have its own.
    pub(crate) fn result_caches(&self) -> Vec<ResultCache> {
        let own = &*self.own;
        if own.profile == Profile::Strict {
            return Vec::new();
        }
        let mut found = caches::with_results(&own.places, &own.state, &own.workspace);
        found.retain(|cache| {
            let holds_workspace = own.workspace.starts_with(&cache.place);
            !holds_workspace && !cache.place.starts_with(&own.workspace)
        });
        found
    }

    /// Gets the caches of agents ready: copies downloads of the home when they are new, and removes those of
    /// workspaces that no longer need them. Blocks.
    pub(crate) fn prepare_caches(&self) {
        let own = &*self.own;
        if own.sessions == SessionKind::Agent && own.profile != Profile::Strict {
            // An agent with empty caches downloads again.
            let _ = caches::prepare(&own.places, &own.agent_caches, &own.workspace);
        }
    }

    /// Paths that the command line and the environment name, of those that would be hidden: temporary
    /// files, and the run's own.
    fn named(command: &Command, run_dir: Option<&Path>) -> Vec<PathBuf> {
        let values = command.env.iter().map(|(_, value)| value);
        let words = command.argv.iter().chain(values);
        let paths = words.flat_map(|word| {
            let word = word.to_string_lossy().into_owned();
            let parts: Vec<_> = word.split([':', '=']).map(PathBuf::from).collect();
            parts
        });
        let hidden = |path: &PathBuf| is_temporary(path) || is_in(run_dir, path);
        let is_all = |path: &PathBuf| TEMPORARY.iter().any(|root| path == Path::new(root));
        paths
            .filter(|path| path.is_absolute() && hidden(path) && !is_all(path))
            .filter(|path| Some(path.as_path()) != run_dir)
            .filter_map(real)
            .collect()
    }
}

impl Own {
    /// What is mounted in the workspace's place.
    fn moved(&self) -> Vec<Moved> {
        let Some(room) = &self.room else {
            return Vec::new();
        };
        let tree = Moved {
            source: room.tree.as_os_str().into(),
            place: self.workspace.as_os_str().into(),
            access: Access::Write,
        };
        let mounts = room.mounts.iter().map(|mount| Moved {
            source: mount.source.as_os_str().into(),
            place: self.workspace.join(&mount.place).as_os_str().into(),
            access: if mount.is_writable {
                Access::Write
            } else {
                Access::Read
            },
        });
        [tree].into_iter().chain(mounts).collect()
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn is_temporary(path: &Path) -> bool {
    TEMPORARY.iter().any(|root| path.starts_with(root))
}

fn is_in(folder: Option<&Path>, path: &Path) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// A session of one of these is nothing without the network; what they run shares it.
fn speaks_to_a_model(kind: AgentKind) -> bool {
    !matches!(kind, AgentKind::Shell | AgentKind::Ollama | AgentKind::Api)
}

/// The repository's own folder, where the workspace is a worktree of one that lies elsewhere. The
/// pointer is the workspace's to write, so nothing that it leads to is believed but the place itself:
/// `worktrees/NAME` of a repository, from where a file points back. Whoever could have faked that
/// can write there already.
fn git_folder(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    let pointer = std::fs::read_to_string(&own).ok()?;
    let folder = real(workspace.join(pointer.strip_prefix("gitdir:")?.trim()))?;
    let worktrees = folder.parent().filter(|path| path.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let back = std::fs::read_to_string(folder.join("gitdir")).ok()?;
    let points_back = real(folder.join(back.trim())) == real(own);
    let lies_elsewhere = !repository.starts_with(workspace);
    (points_back && lies_elsewhere).then(|| repository.to_owned())
}

/// What stands around the programs that a supervisor starts, for a report.
pub(crate) fn held(supervisor: &Supervisor) -> Sandbox {
    let none = || Sandbox {
        backend: Backend::None,
        profile: Profile::None,
        open: Hold::ALL.to_vec(),
        ..Sandbox::default()
    };
    supervisor
        .walls()
        .map_or_else(none, |walls| walls.held().clone())
}

/// Clears away what supervisors that were killed have left: folders for temporary files, and the
/// containers that are written down below Selvedge's state. Returns how many; what is in use stays.
pub fn clear_abandoned(state: &Path) -> usize {
    clear_temporary() + clear_containers(&state.join(container::RECORDS))
}

/// Where the `bwrap` program is.
pub(crate) fn find_bubblewrap() -> Option<PathBuf> {
    find_in_system(bubblewrap::PROGRAM)
}

/// Where a program that builds walls is: never in a folder that the workspace could have put into the
/// path.
fn find_in_system(program: &str) -> Option<PathBuf> {
    const FOLDERS: [&str; 4] = [
        "/usr/bin",
        "/usr/local/bin",
        "/bin",
        "/run/current-system/sw/bin",
    ];
    let mut found = FOLDERS.iter().map(|folder| Path::new(folder).join(program));
    found.find(|path| path.is_file())
}
