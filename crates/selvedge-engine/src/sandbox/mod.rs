//! Sandboxes: restrict the access of sessions to the rest of the machine.
//!
//! A [`WorkspaceSandbox`] knows the profile and the paths; for each command it creates a `SandboxPlan`, plain data
//! that is sent to the supervisor. A backend carries it out: the `bwrap` program (`bubblewrap`), this program with
//! Landlock (`landlock`), or a container engine (`container`), all of them with a filter of system calls (`seccomp`).
//! Restrictions are never assumed: they are probed once per boot (`setup`), and reported.
//!
//! Nothing here may create files in a user's directories, except for empty placeholders while a session runs, and a run
//! is never without a sandbox unless that is reported.

mod accounts;
mod agent_folders;
mod bubblewrap;
mod caches;
mod container;
mod credential_files;
mod denial_diagnosis;
mod exec_request;
mod init;
mod landlock;
mod mounts;
mod paths;
mod placeholders;
mod plan;
mod portable;
mod private_home;
mod probe;
mod probe_cache;
mod seccomp;
mod secret_file_names;
mod setup;
mod temporary_paths;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selvedge_core::model::{AgentKind, Restriction, SandboxBackend, SandboxProfile, SandboxReport};

use crate::environment::EnvironmentMap;
use crate::process::{
    SessionCommand, Supervisor, find_program, is_executable, remove_abandoned_containers,
    remove_abandoned_folders,
};
use crate::workspace::{ResultCache, VerificationRoomMount, main_repository};
use caches::CacheAccess;
use paths::{SandboxPaths, SteeringPath, canonical};
use placeholders::{MissingPath, remove_abandoned_placeholders};
use plan::{PathAccess, RelocatedFolder, system_strings};
use private_home::PrivateHome;
use setup::SessionKind;
use temporary_paths::{NeededPaths, is_temporary, is_temporary_folder, paths_named_by};

pub(crate) use bubblewrap::{TEMPORARY_FOLDERS, bubblewrap_arguments, temporary_folder_name};
pub use caches::AgentCaches;
pub(crate) use container::{ContainerEngine, ContainerPlan, ContainerRequest};
pub(crate) use denial_diagnosis::diagnose_denial;
pub(crate) use exec_request::{ExecRequest, InitMessage};
pub use init::main as init_main;
pub(crate) use placeholders::Placeholders;
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
    /// Hidden paths that single checks may read, by the check's name or command.
    grants: BTreeMap<String, Vec<PathBuf>>,
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

    /// The same sandbox for sessions that follow each other closely: paths outside of the workspace are searched for the
    /// first one.
    pub(crate) fn with_paths_searched_once(&self) -> Self {
        self.with_paths(self.inner.paths.searched_once())
    }

    /// Begins to search the paths outside of the workspace for the next session, which then waits less.
    pub(crate) fn search_paths_ahead(&self) {
        self.inner.paths.search_ahead();
    }

    fn with_paths(&self, paths: SandboxPaths) -> Self {
        let own = WorkspaceSandboxInner {
            paths,
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
        if let Some(paths) = self.inner.paths.take_ahead() {
            return self.with_paths(paths).plan_for(command);
        }
        let own = &*self.inner;
        let strict = own.profile == SandboxProfile::Strict;
        let program = command.argv.first().map(Path::new);
        let program = program.and_then(|path| path.file_name()?.to_str());
        let program = program.unwrap_or_default();
        let of_agent = command
            .agent
            .map_or_else(Vec::new, |kind| own.paths.create_agent_paths(kind, program));
        let works_here = command.cwd.starts_with(&own.workspace);
        let (private, shared): (Vec<PathBuf>, Vec<PathBuf>) = of_agent
            .iter()
            .cloned()
            .partition(|path| self.can_be_private(path));
        // With mounts, only a private copy of the repository is writable. One that contains the workspace cannot be
        // restored.
        let repository = main_repository(&own.workspace);
        let is_restored = |path: &PathBuf| !self.has_mounts() && !own.workspace.starts_with(path);
        let writable_repository = repository.clone().filter(is_restored);
        // A judge works in another folder, the run's, and may write neither there nor here.
        let here = Some(own.workspace.clone()).filter(|_| works_here);
        let opened: Vec<PathBuf> = here
            .into_iter()
            .chain(own.writable.iter().cloned())
            .chain(writable_repository)
            .chain(shared)
            .chain(command.writable_paths.iter().cloned().filter_map(canonical))
            .collect();
        let mut steering = own.paths.steering();
        // An agent may be installed in its own folder.
        let program_file = command.argv.first().map(PathBuf::from);
        let program_file = program_file.filter(|path| path.is_absolute());
        let installed = program_file.and_then(canonical);
        let installed = installed.map(|program| own.paths.installation(program));
        steering.extend(installed.filter(|it| private.iter().any(|of| it.path.starts_with(of))));
        let caches = self.cache_access(command, works_here, &opened, &of_agent, &steering);
        let agent_mounts = self.agent_mounts(&private, works_here, &steering);
        let homes: Vec<PathBuf> = own.paths.own_home().into_iter().collect();
        let homes: Vec<PathBuf> = [homes, own.paths.other_homes.clone()].concat();
        let workplaces = [&own.workspace, &command.cwd].into_iter();
        let used: Vec<&PathBuf> = workplaces
            .chain(&repository)
            .chain(&opened)
            .chain(&of_agent)
            .collect();
        let masked = self.masked_paths(command.agent, program, &used);
        let private_home = self.private_home(&opened);
        let masked: Vec<PathBuf> = masked
            .into_iter()
            .chain(homes.iter().filter(|_| strict).cloned())
            .chain(private_home.iter().map(|home| home.path.clone()))
            // Paths from the user's settings exist; caches are not among them.
            .filter(|path| !opened.contains(path) && !of_agent.contains(path))
            .filter(|path| self.is_seen(path))
            .collect();
        let home_entries = private_home.iter().flat_map(|home| &home.entries).cloned();
        let (shown, links) = self.shown_paths(command, &masked, &homes, home_entries);
        let steering = self.steering_paths(steering, &of_agent);
        let protected = self.protected_paths(&opened, &caches.writable);
        let missing = self.missing_paths(&steering, &opened, &caches.writable_in_home());
        let hidden = missing
            .iter()
            .map(|it| PathBuf::from(&it.path))
            .filter(|path| {
                // Its placeholder has the content of that file.
                placeholders::preferred_over(path).is_some_and(|other| masked.contains(&other))
            });
        let hidden: Vec<PathBuf> = hidden.collect();
        let copies = self.copy_agent_settings(&of_agent, works_here);
        let mut plan = SandboxPlan {
            backend: own.backend,
            pinned: system_strings(steering.into_iter().map(|it| it.path)),
            masked: system_strings(masked.into_iter().chain(hidden)),
            granted: system_strings(self.granted_paths(command)),
            missing,
            placeholder_records: self.placeholder_records().as_os_str().into(),
            protected: system_strings(protected),
            network: !strict || command.agent.is_some_and(needs_network),
            strict,
            writable: system_strings(opened.into_iter().chain(caches.writable.iter().cloned())),
            readable: system_strings(shown),
            container: own.container.clone(),
            relocated: own.relocated_folders(),
            symlinks: private_home.map_or_else(Vec::new, |home| home.symlinks),
        };
        let redirect = command
            .agent
            .and_then(|kind| own.paths.config_redirect(kind));
        let variables = redirect.into_iter().chain(caches.variables.iter().cloned());
        let variables = variables.collect();
        caches.add_to_plan(&mut plan);
        plan.relocated
            .extend(copies.into_iter().chain(agent_mounts));
        if own.backend == SandboxBackend::Bubblewrap {
            add_links(&mut plan, links);
        }
        (plan, variables)
    }

    /// Paths that a session may read although what is above them is hidden, and links to such paths with their
    /// targets.
    fn shown_paths(
        &self,
        command: &SessionCommand,
        masked: &[PathBuf],
        homes: &[PathBuf],
        home_entries: impl Iterator<Item = PathBuf>,
    ) -> (Vec<PathBuf>, Vec<(PathBuf, PathBuf)>) {
        let own = &*self.inner;
        let strict = own.profile == SandboxProfile::Strict;
        let run_dir = command.lock.as_deref().and_then(Path::parent);
        let works_elsewhere = !command.cwd.starts_with(&own.workspace);
        let elsewhere = Some(command.cwd.clone()).filter(|_| works_elsewhere);
        let needed = self.needed_paths(command, run_dir);
        let toolchains = if strict {
            own.paths.toolchains()
        } else {
            Vec::new()
        };
        let repository = main_repository(&own.workspace).filter(|_| self.has_mounts());
        let has_home = !strict && !own.backend.is_container();
        let home = own.paths.own_home();
        let temporary_home = home.filter(|home| has_home && is_temporary(home));
        let visible = needed
            .shown
            .into_iter()
            .chain(toolchains)
            .chain(repository)
            .chain(elsewhere.and_then(canonical))
            .chain(temporary_home)
            .chain(home_entries);
        let shown = visible.filter(|path| {
            !masked.iter().any(|masked| {
                path.starts_with(masked) && !homes.contains(masked) && !is_below(run_dir, path)
            })
        });
        // A session that works elsewhere can read the workspace if its command line names it.
        let workspace = own.workspace.as_os_str();
        let is_named = command.argv.iter().any(|word| word == workspace);
        let shown = shown.chain(is_named.then(|| own.workspace.clone()));
        // A container has its own folder of services, not this machine's.
        let services = Some(SandboxPaths::shown_in_run()).filter(|_| !own.backend.is_container());
        let services: Vec<PathBuf> = services.unwrap_or_default();
        let links = services
            .iter()
            .filter_map(|path| Some((path.clone(), canonical(path.clone())?)));
        let links = needed.links.into_iter().chain(links).collect();
        let shown = shown.chain(services.into_iter().filter_map(canonical));
        (shown.collect(), links)
    }

    /// The home with its top replaced by a folder of the session: tests and tools create files there (`~/.xo-cache`). `None`
    /// if the backend has no mounts, the profile hides the home anyway, or the session may write to the home itself.
    fn private_home(&self, opened: &[PathBuf]) -> Option<PrivateHome> {
        let own = &*self.inner;
        let replaces =
            own.backend == SandboxBackend::Bubblewrap && own.profile == SandboxProfile::Default;
        let home = own.paths.own_home().filter(|_| replaces)?;
        let is_opened = opened.iter().any(|path| home.starts_with(path));
        if is_opened {
            return None;
        }
        PrivateHome::of(home)
    }

    /// Paths that are hidden from a session that uses these paths.
    fn masked_paths(
        &self,
        agent: Option<AgentKind>,
        program: &str,
        used: &[&PathBuf],
    ) -> Vec<PathBuf> {
        let own = &*self.inner;
        let secret_files = own.paths.secret_files().iter().cloned();
        // Names say nothing about what a session works on.
        let secret_files = secret_files.filter(|path| {
            let is_used = |it: &&PathBuf| path.starts_with(it) || it.starts_with(path);
            path.exists() && !used.iter().any(is_used)
        });
        let configured = own.masked.iter().cloned().filter_map(canonical);
        // A session may work on what the home links to, but not on Selvedge's settings.
        let linked = own.paths.linked_from_masked().into_iter();
        let linked = linked.filter(|path| !used.iter().any(|it| path.starts_with(it)));
        configured
            .chain(linked)
            .chain(own.paths.own_settings())
            .chain(own.paths.masked())
            .chain(own.paths.other_agents_paths(agent, program))
            .chain(canonical(own.state.clone()))
            .chain(canonical(self.placeholder_records()))
            .chain(secret_files)
            .collect()
    }

    /// Whether a path can be hidden: in a room it must exist, or the mount would create it.
    fn is_seen(&self, path: &Path) -> bool {
        let own = &*self.inner;
        match (&own.verification_room, path.strip_prefix(&own.workspace)) {
            (Some(room), Ok(below)) => room.tree.join(below).exists(),
            _ => true,
        }
    }

    /// Paths below folders for temporary files, and of the run, that a command needs: those that its command line and
    /// its environment name, and its programs.
    fn needed_paths(&self, command: &SessionCommand, run_dir: Option<&Path>) -> NeededPaths {
        let own = &*self.inner;
        let mut needed = NeededPaths::default();
        let values = command.env.iter().map(|(_, value)| value);
        for path in paths_named_by(&command.argv, values) {
            if !path.is_absolute() || Some(path.as_path()) == run_dir {
                continue;
            }
            if is_below(run_dir, &path) {
                needed.shown.extend(canonical(path));
            } else if is_temporary(&path) && !is_temporary_folder(&path) {
                needed.add(&path);
                if is_executable(&path) {
                    needed.add_program(&path);
                }
            }
        }
        if own.backend != SandboxBackend::Bubblewrap {
            return needed;
        }
        needed.add_repository(&own.workspace);
        let path = command.env.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(""), |(_, value)| value.as_os_str());
        for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
            needed.add_program_folder(&folder);
        }
        if let Some(program) = command.argv.first() {
            let found = find_program(program.clone(), path, &command.cwd);
            if let Some(program) = found.filter(|program| program.is_absolute()) {
                needed.add_program(&program);
            }
        }
        needed
    }

    /// Hidden paths that the settings open for one check.
    fn granted_paths(&self, command: &SessionCommand) -> Vec<PathBuf> {
        let names = command.check_names.iter();
        let granted = names.filter_map(|name| self.inner.grants.get(name));
        granted.flatten().cloned().filter_map(canonical).collect()
    }

    /// Paths that run or configure programs outside, which are read-only inside of writable ones; of missing ones, the
    /// first missing folder. With Landlock, nothing can be created beside a read-only path, so folders that the user
    /// opened and the agent's own are excepted.
    fn steering_paths(
        &self,
        steering: Vec<SteeringPath>,
        of_agent: &[PathBuf],
    ) -> Vec<SteeringPath> {
        let own = &*self.inner;
        let is_in = |paths: &[PathBuf], path: &Path| paths.iter().any(|it| path.starts_with(it));
        let is_excepted = |path: &Path| {
            let is_opened = is_in(of_agent, path) || is_in(&own.writable, path);
            own.writable.iter().any(|it| it == path)
                || path.starts_with(&own.workspace)
                || (is_opened && own.backend == SandboxBackend::Landlock)
        };
        let steering = steering.into_iter().map(|it| (it.path.exists(), it));
        let steering: Vec<(bool, SteeringPath)> = steering.collect();
        // A placeholder is recorded before it is created, so each that was found above is known now, or gone already.
        let placeholders = placeholders::recorded_names(&self.placeholder_records());
        let steering = steering.into_iter().filter_map(|(was_there, it)| {
            match first_missing(&it.path, was_there, &placeholders) {
                Some(_) if it.may_be_created => None,
                Some(path) => Some(SteeringPath {
                    is_folder: it.is_folder || path != it.path,
                    path,
                    is_missing: true,
                    ..it
                }),
                None => Some(it),
            }
        });
        steering.filter(|it| !is_excepted(&it.path)).collect()
    }

    /// The missing ones among these paths, in folders of the user that a session may write to.
    fn missing_paths(
        &self,
        steering: &[SteeringPath],
        opened: &[PathBuf],
        caches: &[PathBuf],
    ) -> Vec<MissingPath> {
        let own = &*self.inner;
        if own.backend == SandboxBackend::Landlock {
            return Vec::new();
        }
        let is_users = |path: &&PathBuf| !own.writable.contains(path);
        let writable: Vec<&PathBuf> = opened
            .iter()
            .filter(is_users)
            .chain(caches)
            .filter(|folder| !folder.starts_with(&own.state) && folder.is_dir())
            .collect();
        let is_writable = |path: &Path| {
            let mut above = writable.iter();
            above.any(|folder| path.starts_with(folder) && path != folder.as_path())
        };
        let missing = steering
            .iter()
            .filter(|it| it.is_missing && is_writable(&it.path));
        missing
            .map(|it| MissingPath {
                path: it.path.as_os_str().into(),
                is_folder: it.is_folder,
            })
            .collect()
    }

    /// Whether a session can get a private folder in place of an agent's one: not if it is a part of what the session works
    /// on, or of what the user has opened.
    fn can_be_private(&self, folder: &Path) -> bool {
        let own = &*self.inner;
        let mut opened = own.writable.iter().chain([&own.workspace]);
        self.has_mounts()
            && folder.is_dir()
            && !opened.any(|it| folder.starts_with(it) || it.starts_with(folder))
    }

    /// The mounts in place of an agent's folders. If one cannot be made, the folder is read-only, and the agent reports
    /// what it cannot write.
    fn agent_mounts(
        &self,
        folders: &[PathBuf],
        works_here: bool,
        steering: &[SteeringPath],
    ) -> Vec<RelocatedFolder> {
        let own = &*self.inner;
        if folders.is_empty() {
            return Vec::new();
        }
        let root = own.agent_caches.join(caches::agents_folder(works_here));
        let logins = own.paths.logins();
        let mounts = folders
            .iter()
            .filter_map(|folder| agent_folders::mounts(folder, &root, steering, &logins).ok());
        mounts.flatten().collect()
    }

    /// Files among an agent's paths that it rewrites in every session and that also name programs to run: the session
    /// gets a copy.
    fn copy_agent_settings(&self, of_agent: &[PathBuf], works_here: bool) -> Vec<RelocatedFolder> {
        let own = &*self.inner;
        if own.backend == SandboxBackend::Landlock {
            return Vec::new();
        }
        let root = own.agent_caches.join(caches::agents_folder(works_here));
        let files = of_agent.iter().filter(|path| path.is_file());
        files
            .map(|file| {
                // Without a copy, it is read-only.
                let (source, access) = match caches::copy_private(file, &root) {
                    Ok(copy) => (copy, PathAccess::Write),
                    Err(_) => (file.clone(), PathAccess::Read),
                };
                RelocatedFolder {
                    source: source.as_os_str().into(),
                    mount_point: file.as_os_str().into(),
                    access,
                }
            })
            .collect()
    }

    fn placeholder_records(&self) -> PathBuf {
        let own = &*self.inner;
        placeholders::records_folder(own.paths.home.as_deref(), &own.state)
    }

    /// Paths that a writable folder for temporary files does not make writable.
    fn protected_paths(&self, opened: &[PathBuf], caches: &[PathBuf]) -> Vec<PathBuf> {
        let own = &*self.inner;
        let home = own.paths.own_home();
        let config = own.paths.resolve(".config").and_then(canonical);
        let others = own.paths.caches().into_iter().chain(own.paths.toolchains());
        let is_opened = |path: &PathBuf| {
            let mut writable = opened.iter().chain(caches);
            is_temporary_folder(path) || writable.any(|it| path.starts_with(it))
        };
        let others = others.filter(|path| !is_opened(path));
        home.into_iter().chain(config).chain(others).collect()
    }

    /// The caches of tools that a command may write.
    fn cache_access(
        &self,
        command: &SessionCommand,
        works_here: bool,
        opened: &[PathBuf],
        of_agent: &[PathBuf],
        steering: &[SteeringPath],
    ) -> CacheAccess {
        let own = &*self.inner;
        let opened = [opened, of_agent].concat();
        let can_mount = own.backend != SandboxBackend::Landlock;
        let mut access = match own.sessions {
            _ if own.profile == SandboxProfile::Strict => CacheAccess::default(),
            SessionKind::Check => {
                let home = caches::CheckHome {
                    places: &own.paths,
                    workspace: &own.workspace,
                    steering,
                    opened: &opened,
                };
                caches::check_cache_access(&home, &own.state, can_mount, &command.env)
            }
            SessionKind::Agent => {
                let root = own.agent_caches.join(caches::agents_folder(works_here));
                let (paths, workspace) = (&own.paths, &own.workspace);
                caches::agent_cache_access(
                    paths,
                    &root,
                    workspace,
                    can_mount,
                    &opened,
                    &command.env,
                )
            }
        };
        // What is in the workspace (an active `.venv`) is as writable as that, and belongs to a room if there is one.
        let home = own.paths.home.as_ref();
        let is_around_home = home.is_some_and(|home| home.starts_with(&own.workspace));
        let is_in_workspace = |path: &PathBuf| !is_around_home && path.starts_with(&own.workspace);
        access.writable.retain(|path| !is_in_workspace(path));
        access
    }

    /// Folders outside of the workspace in which tools store results of it; a verification room gets its own ones.
    pub(crate) fn result_caches(&self) -> Vec<ResultCache> {
        let own = &*self.inner;
        if own.profile == SandboxProfile::Strict {
            return Vec::new();
        }
        let opened: Vec<PathBuf> = own
            .writable
            .iter()
            .chain([&own.workspace])
            .cloned()
            .collect();
        let mut found = caches::find_result_caches(&own.paths, &own.state, &own.workspace, &opened);
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
        if own.sessions == SessionKind::Agent {
            // An agent with empty caches downloads again.
            let _ = caches::mark_agent_caches(&own.agent_caches, &own.workspace);
            if own.profile != SandboxProfile::Strict {
                let _ = caches::seed_agent_caches(&own.paths, &own.agent_caches, &own.workspace);
            }
        }
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

/// The first missing part of a path, or the first one that is a placeholder. What was not there and is there now may be
/// the placeholder of a session that has just begun.
fn first_missing(
    path: &Path,
    was_there: bool,
    placeholders: &BTreeSet<OsString>,
) -> Option<PathBuf> {
    let is_placeholder = |part: &Path| {
        !placeholders.is_empty()
            && placeholders.contains(OsStr::new(&crate::workspace::file_name_for(part)))
    };
    if placeholders.is_empty() && was_there && path.exists() {
        return None;
    }
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let mut parts = parts.into_iter();
    let found = parts.find(|part| part.symlink_metadata().is_err() || is_placeholder(part));
    found
        .or_else(|| (!was_there).then_some(path))
        .map(Path::to_owned)
}

/// Makes paths with links exist in folders that are empty at first.
fn add_links(plan: &mut SandboxPlan, links: Vec<(PathBuf, PathBuf)>) {
    let places = plan.access_by_path();
    let masked = plan::paths(&plan.masked);
    let is_hidden = |path: &Path| match plan::nearest_access(&places, path) {
        Some(access) => access == PathAccess::Hidden,
        None => is_temporary(path),
    };
    let symlinks: Vec<PathBuf> = plan.symlinks.iter().map(|it| (&it.path).into()).collect();
    let links = links.into_iter().filter(|(link, target)| {
        let uncovers = masked.iter().any(|masked| masked.starts_with(target));
        let exists = symlinks.iter().any(|symlink| link.starts_with(symlink));
        link != target && is_hidden(link) && !is_hidden(target) && !uncovers && !exists
    });
    let links = links.map(|(link, target)| RelocatedFolder {
        source: target.as_os_str().into(),
        mount_point: link.as_os_str().into(),
        access: PathAccess::Read,
    });
    plan.relocated.extend(links);
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

/// Removes remnants of supervisors that were killed: folders for temporary files, and the containers and placeholders
/// that are recorded below Selvedge's state directory or the user's home. Keeps those in use. Returns the number of
/// removed ones.
pub fn remove_abandoned(state: &Path, environment: &EnvironmentMap) -> usize {
    let home = paths::home_folder(environment);
    let placeholders = placeholders::records_folder(home.as_deref(), state);
    remove_abandoned_folders()
        + remove_abandoned_containers(&state.join(container::RECORDS_FOLDER))
        + remove_abandoned_placeholders(&placeholders)
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
