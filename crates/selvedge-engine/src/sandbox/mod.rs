//! Sandboxes: restrict the access of sessions to the rest of the machine.
//!
//! A [`WorkspaceSandbox`] knows the profile and the paths; for each command it creates a `SandboxPlan`, plain data
//! that is sent to the supervisor. A backend carries it out: the `bwrap` program (`bubblewrap`), this program with
//! Landlock (`landlock`), or a container engine (`container`), all of them with a filter of system calls (`seccomp`).
//! Restrictions are never assumed: they are probed once per boot (`setup`), and reported.
//!
//! Nothing here may create files in a user's directories, and a run is never without a sandbox unless that is
//! reported.

mod bubblewrap;
mod caches;
mod container;
mod denial_diagnosis;
mod exec_request;
mod init;
mod landlock;
mod mounts;
mod paths;
mod plan;
mod portable;
mod probe;
mod probe_cache;
mod seccomp;
mod setup;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_core::model::{AgentKind, Restriction, SandboxBackend, SandboxProfile, SandboxReport};

use crate::process::{
    SessionCommand, Supervisor, remove_abandoned_containers, remove_abandoned_folders,
};
use crate::workspace::{ResultCache, VerificationRoomMount, main_repository};
use caches::CacheAccess;
use paths::{SandboxPaths, canonical};
use plan::{PathAccess, RelocatedFolder, system_strings};
use setup::SessionKind;

pub(crate) use bubblewrap::{TEMPORARY_FOLDERS, bubblewrap_arguments, temporary_folder_name};
pub use caches::{AgentCaches, remove_folder};
pub(crate) use container::{ContainerEngine, ContainerPlan, ContainerRequest};
pub(crate) use denial_diagnosis::diagnose_denial;
pub(crate) use exec_request::{ExecRequest, InitMessage};
pub use init::main as init_main;
pub(crate) use plan::SandboxPlan;
pub(crate) use portable::this_program;
pub use probe::main as probe_main;
pub use setup::{SandboxContext, SandboxPair, SandboxUnavailableError, set_up_sandboxes};

/// A sandbox of one kind for one workspace.
#[derive(Debug, Clone)]
pub struct WorkspaceSandbox {
    inner: Arc<WorkspaceSandboxInner>,
}

#[derive(Debug, Clone)]
struct WorkspaceSandboxInner {
    backend: SandboxBackend,
    profile: SandboxProfile,
    workspace: PathBuf,
    /// Selvedge's state directory: hidden inside of the sandbox.
    state: PathBuf,
    /// Further writable paths.
    writable: Vec<PathBuf>,
    masked: Vec<PathBuf>,
    paths: SandboxPaths,
    /// Kind of the sessions.
    sessions: SessionKind,
    /// The caches of this workspace's agents.
    agent_caches: PathBuf,
    container: Option<ContainerPlan>,
    verified: SandboxReport,
    /// Whether a socket was among the writable paths when the run began.
    opens_socket: bool,
    /// A tree that is mounted at the workspace's path.
    verification_room: Option<VerificationRoomMounts>,
    /// Mounts that keep the git directories of the workspace out of reach, by absolute paths.
    git_mounts: Vec<VerificationRoomMount>,
}

/// A tree that is mounted at the workspace's path, and the mounts in it.
#[derive(Debug, Clone)]
pub(crate) struct VerificationRoomMounts {
    pub(crate) tree: PathBuf,
    pub(crate) mounts: Vec<VerificationRoomMount>,
}

impl WorkspaceSandbox {
    /// The restrictions that the probe found to be enforced.
    pub fn verified_restrictions(&self) -> &SandboxReport {
        &self.inner.verified
    }

    /// The same sandbox with a verification room in place of the workspace. Only for sandboxes that
    /// [`can_mount`](Self::can_mount).
    pub(crate) fn with_verification_room(&self, room: VerificationRoomMounts) -> Self {
        let own = WorkspaceSandboxInner {
            verification_room: Some(room),
            ..WorkspaceSandboxInner::clone(&self.inner)
        };
        Self { inner: own.into() }
    }

    /// The same sandbox with mounts over git directories. Only for sandboxes that [`has_mounts`](Self::has_mounts).
    pub(crate) fn with_git_mounts(&self, mounts: Vec<VerificationRoomMount>) -> Self {
        let own = WorkspaceSandboxInner {
            git_mounts: mounts,
            ..WorkspaceSandboxInner::clone(&self.inner)
        };
        Self { inner: own.into() }
    }

    /// Whether the backend can mount folders at other paths.
    pub(crate) fn has_mounts(&self) -> bool {
        let backend = self.inner.backend;
        backend == SandboxBackend::Bubblewrap || backend.is_container()
    }

    /// Whether another tree can be mounted at the workspace's path for everything that a session can reach. A daemon
    /// behind a socket would see the workspace itself.
    pub(crate) fn can_mount(&self) -> bool {
        self.has_mounts() && !self.inner.opens_socket
    }

    /// The access of a command, and the variables that the sandbox changes.
    pub(crate) fn plan_for(
        &self,
        command: &SessionCommand,
    ) -> (SandboxPlan, Vec<(OsString, OsString)>) {
        let own = &*self.inner;
        let strict = own.profile == SandboxProfile::Strict;
        let run_dir = command.lock.as_deref().and_then(Path::parent);
        let program = command.argv.first().map(Path::new);
        let program = program.and_then(|path| path.file_name()?.to_str());
        let kept = command.agent.map_or_else(Vec::new, |kind| {
            own.paths
                .create_agent_paths(kind, program.unwrap_or_default())
        });
        // A judge works in another folder, the run's, and may write neither there nor here.
        let works_here = command.cwd.starts_with(&own.workspace);
        let elsewhere = Some(command.cwd.clone())
            .filter(|_| !works_here)
            .and_then(canonical);
        let here = Some(own.workspace.clone()).filter(|_| works_here);
        // With mounts, only a private copy of the repository is writable.
        let repository = main_repository(&own.workspace);
        let (writable_repository, readable_repository) = if self.has_mounts() {
            (None, repository)
        } else {
            (repository, None)
        };
        let opened: Vec<PathBuf> = here
            .into_iter()
            .chain(own.writable.iter().cloned())
            .chain(writable_repository)
            .chain(kept)
            .chain(command.writable_paths.iter().cloned().filter_map(canonical))
            .collect();
        let caches = self.cache_access(command, works_here, &opened);
        let home = own.paths.home.clone();
        let masked = own.masked.iter().cloned().filter_map(canonical);
        let masked = masked
            .chain(own.paths.masked())
            .chain(own.paths.other_agents_paths(command.agent))
            .chain(canonical(own.state.clone()))
            .chain(home.clone().filter(|_| strict))
            // Paths from the user's settings exist; caches are not among them.
            .filter(|path| !opened.contains(path));
        let is_seen =
            |path: &PathBuf| match (&own.verification_room, path.strip_prefix(&own.workspace)) {
                // A path that is hidden in a room must exist, or the mount would create it.
                (Some(room), Ok(below)) => room.tree.join(below).exists(),
                _ => true,
            };
        let masked: Vec<PathBuf> = masked.filter(is_seen).collect();
        let toolchains = if strict {
            own.paths.toolchains()
        } else {
            Vec::new()
        };
        let shown = Self::named_hidden_paths(command, run_dir)
            .into_iter()
            .chain(toolchains)
            .chain(readable_repository)
            .chain(elsewhere);
        // A container has a home of its own.
        let has_home = !strict && !own.backend.is_container();
        let shown = shown.chain(home.clone().filter(|home| has_home && is_temporary(home)));
        let shown = shown.filter(|path| {
            !masked.iter().any(|masked| {
                path.starts_with(masked)
                    && Some(masked) != home.as_ref()
                    && !is_below(run_dir, path)
            })
        });
        // A session that works elsewhere can read the workspace if its command line names it.
        let workspace = own.workspace.as_os_str();
        let is_named = command.argv.iter().any(|word| word == workspace);
        let shown = shown.chain(is_named.then(|| own.workspace.clone()));
        let is_in_room =
            |path: &PathBuf| own.verification_room.is_some() && path.starts_with(&own.workspace);
        let pinned = own.paths.pinned().into_iter();
        let pinned = pinned.filter(|path| !is_in_room(path));
        let mut plan = SandboxPlan {
            backend: own.backend,
            readable: system_strings(shown),
            pinned: system_strings(pinned.filter(|path| !own.writable.contains(path))),
            masked: system_strings(masked),
            protected: system_strings(
                home.into_iter()
                    .chain(own.paths.resolve(".config").and_then(canonical)),
            ),
            network: !strict || command.agent.is_some_and(needs_network),
            strict,
            writable: system_strings(opened.into_iter().chain(caches.writable.iter().cloned())),
            container: own.container.clone(),
            relocated: own.relocated_folders(),
        };
        let kept = command
            .agent
            .and_then(|kind| own.paths.config_redirect(kind));
        let variables = kept.into_iter().chain(caches.variables.iter().cloned());
        let variables = variables.collect();
        caches.add_to_plan(&mut plan);
        (plan, variables)
    }

    /// The caches of tools that a command may write.
    fn cache_access(
        &self,
        command: &SessionCommand,
        works_here: bool,
        opened: &[PathBuf],
    ) -> CacheAccess {
        let own = &*self.inner;
        let can_mount = own.backend != SandboxBackend::Landlock;
        match own.sessions {
            _ if own.profile == SandboxProfile::Strict => CacheAccess::default(),
            SessionKind::Check => caches::check_cache_access(&own.paths, &own.state, &command.env),
            SessionKind::Agent => {
                // Judges do not share caches with the agents that they judge.
                let name = if works_here {
                    caches::WORK_FOLDER
                } else {
                    caches::JUDGES_FOLDER
                };
                let root = own.agent_caches.join(name);
                caches::agent_cache_access(&own.paths, &root, can_mount, opened, &command.env)
            }
        }
    }

    /// Folders outside of the workspace with the tools' results of it, so that a verification room can have its own.
    pub(crate) fn result_caches(&self) -> Vec<ResultCache> {
        let own = &*self.inner;
        if own.profile == SandboxProfile::Strict {
            return Vec::new();
        }
        let mut found = caches::find_result_caches(&own.paths, &own.state, &own.workspace);
        found.retain(|cache| {
            let holds_workspace = own.workspace.starts_with(&cache.path);
            !holds_workspace && !cache.path.starts_with(&own.workspace)
        });
        found
    }

    /// Prepares the caches of agents: copies downloads from the home to new ones, and removes those of workspaces that
    /// no longer need them. Blocks.
    pub(crate) fn prepare_caches(&self) {
        let own = &*self.inner;
        if own.sessions == SessionKind::Agent && own.profile != SandboxProfile::Strict {
            // An agent with empty caches downloads again.
            let _ = caches::prepare_agent_caches(&own.paths, &own.agent_caches, &own.workspace);
        }
    }

    /// Paths in the command line and the environment that would be hidden otherwise: temporary files, and the run's
    /// own.
    fn named_hidden_paths(command: &SessionCommand, run_dir: Option<&Path>) -> Vec<PathBuf> {
        let values = command.env.iter().map(|(_, value)| value);
        let words = command.argv.iter().chain(values);
        let paths = words.flat_map(|word| {
            let word = word.to_string_lossy().into_owned();
            let parts: Vec<_> = word.split([':', '=']).map(PathBuf::from).collect();
            parts
        });
        let hidden = |path: &PathBuf| is_temporary(path) || is_below(run_dir, path);
        let is_all = |path: &PathBuf| TEMPORARY_FOLDERS.iter().any(|root| path == Path::new(root));
        paths
            .filter(|path| path.is_absolute() && hidden(path) && !is_all(path))
            .filter(|path| Some(path.as_path()) != run_dir)
            .filter_map(canonical)
            .collect()
    }
}

impl WorkspaceSandboxInner {
    /// The mounts in place of the workspace and of git directories.
    fn relocated_folders(&self) -> Vec<RelocatedFolder> {
        let tree = self.verification_room.as_ref().map(|room| RelocatedFolder {
            source: room.tree.as_os_str().into(),
            mount_point: self.workspace.as_os_str().into(),
            access: PathAccess::Write,
        });
        let room = self.verification_room.iter().flat_map(|room| &room.mounts);
        let mounts = room.chain(&self.git_mounts).map(|mount| RelocatedFolder {
            source: mount.source.as_os_str().into(),
            mount_point: self.workspace.join(&mount.mount_point).as_os_str().into(),
            access: if mount.is_writable {
                PathAccess::Write
            } else {
                PathAccess::Read
            },
        });
        tree.into_iter().chain(mounts).collect()
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn is_temporary(path: &Path) -> bool {
    TEMPORARY_FOLDERS.iter().any(|root| path.starts_with(root))
}

fn is_below(folder: Option<&Path>, path: &Path) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// Whether sessions of this kind need the network; the programs that they run share it.
fn needs_network(kind: AgentKind) -> bool {
    !matches!(kind, AgentKind::Shell | AgentKind::Ollama | AgentKind::Api)
}

/// Restrictions of the programs that a supervisor starts, for a report.
pub(crate) fn verified_restrictions(supervisor: &Supervisor) -> SandboxReport {
    let none = || SandboxReport {
        backend: SandboxBackend::None,
        profile: SandboxProfile::None,
        open: Restriction::ALL.to_vec(),
        ..SandboxReport::default()
    };
    supervisor
        .sandbox()
        .map_or_else(none, |sandbox| sandbox.verified_restrictions().clone())
}

/// Removes remnants of supervisors that were killed: folders for temporary files, and the containers that are recorded
/// below Selvedge's state directory. Keeps those in use. Returns the number of removed ones.
pub fn remove_abandoned(state: &Path) -> usize {
    remove_abandoned_folders() + remove_abandoned_containers(&state.join(container::RECORDS_FOLDER))
}

/// Path of the `bwrap` program.
pub(crate) fn find_bubblewrap() -> Option<PathBuf> {
    find_in_system(bubblewrap::PROGRAM)
}

/// Path of a sandboxing program: never in a folder that the workspace could have added to the search path.
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
