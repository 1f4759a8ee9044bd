//! Paths that sandboxes treat specially: the list of `places.txt`, resolved for a home and an environment. Only
//! existing paths are returned; nothing is created, except by functions with `create` in their names.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use parking_lot::Mutex;
use selvedge_core::model::{AgentKind, PRECONFIGURED_PROGRAMS};

use super::accounts;
use super::credential_files::{has_credentials, sets_secrets};
use super::secret_file_names::find_secret_files;
use super::temporary_paths::is_temporary_folder;
use crate::environment::EnvironmentMap;

const PATH_TABLE: &str = include_str!("places.txt");

/// Prefixes of paths, and the variable that may have moved the paths below them.
const RELOCATED_PREFIXES: &[(&str, &str)] = &[
    (".config", "XDG_CONFIG_HOME"),
    (".cache", "XDG_CACHE_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
    (".cargo", "CARGO_HOME"),
    (".rustup", "RUSTUP_HOME"),
    (".npm", "npm_config_cache"),
    (".npm", "NPM_CONFIG_CACHE"),
    (".gradle", "GRADLE_USER_HOME"),
    ("go", "GOPATH"),
    (".ccache", "CCACHE_DIR"),
    (".claude", "CLAUDE_CONFIG_DIR"),
    (".codex", "CODEX_HOME"),
    (".docker", "DOCKER_CONFIG"),
    (".gnupg", "GNUPGHOME"),
    (".kube", "KUBECONFIG"),
    (".aws/credentials", "AWS_SHARED_CREDENTIALS_FILE"),
    (".aws/config", "AWS_CONFIG_FILE"),
    (".config/gcloud", "CLOUDSDK_CONFIG"),
    (".azure", "AZURE_CONFIG_DIR"),
    (".netrc", "NETRC"),
    (".npmrc", "NPM_CONFIG_USERCONFIG"),
    (".npmrc", "npm_config_userconfig"),
    (".config/pip/pip.conf", "PIP_CONFIG_FILE"),
    (".cache/huggingface", "HF_HOME"),
    (".composer", "COMPOSER_HOME"),
    (".terraformrc", "TF_CLI_CONFIG_FILE"),
    (".pgpass", "PGPASSFILE"),
    (".psql_history", "PSQL_HISTORY"),
    (".mysql_history", "MYSQL_HISTFILE"),
    (".bash_history", "HISTFILE"),
    (".node_repl_history", "NODE_REPL_HISTORY"),
    (".python_history", "PYTHON_HISTORY"),
    (".sqlite_history", "SQLITE_HISTORY"),
    (".Xauthority", "XAUTHORITY"),
];

/// Variables that name a folder of installed programs: agents may read it, and checks may write it.
const INSTALL_VARIABLES: &[&str] = &["COREPACK_HOME", "VIRTUAL_ENV"];

/// Agents without a preset that keep data in the home.
const OTHER_PROGRAMS: [&str; 8] = [
    "crush", "kiro", "cline", "auggie", "kimi", "kilocode", "vibe", "grok",
];

/// How many entries of a folder of the search path are examined.
const MAX_LINKS: usize = 2_000;

/// How many levels of a hidden folder are searched for links.
const LINK_LEVELS: usize = 2;

/// Folders with more entries are not listed.
const MAX_NAMES: usize = 2_000;

/// How much of a settings file is examined.
const MAX_SETTINGS_BYTES: u64 = 256 << 10;

/// Variables that name a folder to which a build writes.
const BUILD_OUTPUT_VARIABLES: &[&str] = &[
    "CARGO_TARGET_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "DENO_DIR",
    "COREPACK_HOME",
    "CCACHE_DIR",
    "SCCACHE_DIR",
    "VIRTUAL_ENV",
];

/// Those of these variables that name folders of compiled code and results, and the extensions of files in workspaces
/// that use them.
const RESULT_CACHE_VARIABLES: &[(&str, &[&str])] = &[
    ("CARGO_TARGET_DIR", &["Cargo.toml"]),
    ("GOCACHE", &["go.mod"]),
    ("CCACHE_DIR", &[]),
    ("SCCACHE_DIR", &[]),
];

/// A home, and an environment that may have moved parts of it.
#[derive(Debug, Clone)]
pub(super) struct SandboxPaths {
    pub(super) home: Option<PathBuf>,
    /// Further homes whose files the session could read.
    pub(super) other_homes: Vec<PathBuf>,
    environment: EnvironmentMap,
    /// Files that are hidden because of their names. They are searched once for each run.
    secret_files: Arc<OnceLock<Vec<PathBuf>>>,
    /// What links of the search path lead to. A folder of the system may have thousands of links.
    linked_programs: Arc<OnceLock<Vec<(PathBuf, bool, bool)>>>,
    /// What was found for the first session, if it applies to the next ones.
    survey: Option<Arc<PathSurvey>>,
    /// What is being found for the next session.
    ahead: Arc<Mutex<Option<Arc<PathSurvey>>>>,
}

/// The user's home, without links.
pub(super) fn home_folder(environment: &EnvironmentMap) -> Option<PathBuf> {
    absolute_path_variable(environment, "HOME")?
        .canonicalize()
        .ok()
}

/// Results of searches that take longer than an instant check.
#[derive(Debug, Default)]
struct PathSurvey {
    masked: OnceLock<Vec<PathBuf>>,
    linked_from_masked: OnceLock<Vec<PathBuf>>,
    steering: OnceLock<Vec<SteeringPath>>,
    of_agents: OnceLock<Vec<PathBuf>>,
}

/// One cache of a tool.
#[derive(Debug)]
pub(super) struct ToolCache {
    /// The entry of the list, or the variable that names it.
    pub(super) name: &'static str,
    /// Its path, also if it does not exist.
    pub(super) path: PathBuf,
    /// A variable that directs the tool to another folder, and its value with `{}` for that folder.
    pub(super) redirect: Option<(&'static str, &'static str)>,
}

/// A path that runs or configures programs outside of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SteeringPath {
    /// Canonical as far as it exists.
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
    /// Whether its tool creates it if it is missing.
    pub(super) may_be_created: bool,
    pub(super) is_missing: bool,
}

impl SandboxPaths {
    pub(super) fn new(environment: EnvironmentMap) -> Self {
        let home = home_folder(&environment);
        let mut other_homes = accounts::readable_homes(environment.get(OsStr::new("SUDO_USER")));
        other_homes.retain(|other| Some(other) != home.as_ref());
        Self {
            home,
            other_homes,
            environment,
            secret_files: Arc::default(),
            linked_programs: Arc::default(),
            survey: None,
            ahead: Arc::default(),
        }
    }

    /// The same paths for sessions that follow each other closely, such as the checks of an attempt: they are searched
    /// for the first one.
    pub(super) fn searched_once(&self) -> Self {
        let ahead = self.ahead.lock().take();
        self.with_survey(ahead.unwrap_or_default())
    }

    /// Begins to search the paths for the next session, in another thread.
    pub(super) fn search_ahead(&self) {
        let survey = Arc::new(PathSurvey::default());
        *self.ahead.lock() = Some(Arc::clone(&survey));
        let paths = self.with_survey(survey);
        let search = move || {
            paths.masked();
            paths.linked_from_masked();
            paths.steering();
            paths.other_agents_paths(None, "");
            paths.secret_files();
        };
        // Without a thread, the session searches them.
        let _ = thread::Builder::new().spawn(search);
    }

    /// The same paths as they were searched ahead. They are for one session: it may change what a search finds.
    pub(super) fn take_ahead(&self) -> Option<Self> {
        let is_unknown = self.survey.is_none();
        let ahead = is_unknown.then(|| self.ahead.lock().take()).flatten()?;
        Some(self.with_survey(ahead))
    }

    fn with_survey(&self, survey: Arc<PathSurvey>) -> Self {
        Self {
            survey: Some(survey),
            ..self.clone()
        }
    }

    fn once<T: Clone>(
        &self,
        result: impl FnOnce(&PathSurvey) -> &OnceLock<T>,
        find: impl FnOnce() -> T,
    ) -> T {
        match &self.survey {
            Some(survey) => result(survey).get_or_init(find).clone(),
            None => find(),
        }
    }

    /// Paths that are hidden in every sandbox.
    pub(super) fn masked(&self) -> Vec<PathBuf> {
        self.once(|survey| &survey.masked, || self.find_masked())
    }

    fn find_masked(&self) -> Vec<PathBuf> {
        let socket = absolute_path_variable(&self.environment, "SSH_AUTH_SOCK");
        let names = FolderNames::default();
        let existing = |section| self.existing_anywhere(section, &names).into_iter();
        let settings = existing("masked if credentials");
        let scripts = existing("masked if secrets are set");
        existing("masked")
            .chain(settings.filter(|path| path.is_file() && has_credentials(path)))
            .chain(scripts.filter(|path| path.is_file() && sets_secrets(path)))
            .chain(socket.and_then(canonical))
            .collect()
    }

    /// Files of the homes that links in hidden folders lead to: the mask of the folder does not hide them at their own
    /// paths.
    pub(super) fn linked_from_masked(&self) -> Vec<PathBuf> {
        let find = || self.find_linked_from_masked();
        self.once(|survey| &survey.linked_from_masked, find)
    }

    fn find_linked_from_masked(&self) -> Vec<PathBuf> {
        let names = FolderNames::default();
        let mut found = BTreeSet::new();
        let mut folders: Vec<(PathBuf, usize)> = self
            .existing_anywhere("masked", &names)
            .into_iter()
            .filter(|path| self.is_in_home(path))
            .map(|path| (path, LINK_LEVELS))
            .collect();
        while let Some((folder, levels)) = folders.pop() {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries.take(MAX_LINKS) {
                let kind = entry.file_type().ok();
                if kind.is_some_and(|kind| kind.is_dir()) && levels > 1 {
                    folders.push((entry.path(), levels - 1));
                } else if kind.is_some_and(|kind| kind.is_symlink())
                    && let Some(target) = canonical(entry.path())
                    && target.is_file()
                    && self.is_in_home(&target)
                {
                    found.insert(target);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Selvedge's settings, at the path that a link leads to.
    pub(super) fn own_settings(&self) -> Option<PathBuf> {
        self.resolve(".config/selvedge/config.toml")
            .and_then(canonical)
    }

    fn is_in_home(&self, path: &Path) -> bool {
        let own = self.own_home();
        let mut homes = own.iter().chain(&self.other_homes);
        homes.any(|home| path.starts_with(home))
    }

    /// Files and folders of the homes whose names say that they hold secrets, except in folders of tools and agents,
    /// which are listed.
    pub(super) fn secret_files(&self) -> &[PathBuf] {
        self.secret_files.get_or_init(|| {
            let listed = ["masked", "installed", "toolchains"];
            let listed = agent_names().chain(listed);
            let names = FolderNames::default();
            let skipped: BTreeSet<PathBuf> = listed
                .flat_map(|section| self.existing_anywhere(section, &names))
                .chain(self.caches())
                .chain(self.search_path().into_iter().filter_map(canonical))
                .chain(self.linked_programs().iter().map(|(path, ..)| path.clone()))
                .collect();
            let homes = self.own_home().into_iter();
            let homes = homes.chain(self.other_homes.iter().cloned());
            homes
                .flat_map(|home| find_secret_files(&home, &skipped))
                .collect()
        })
    }

    /// Files with the logins of agents.
    pub(super) fn logins(&self) -> Vec<PathBuf> {
        self.existing("logins")
    }

    /// Folders of the cache for all other tools that checks share with the home.
    pub(super) fn shared_caches(&self) -> Vec<PathBuf> {
        self.existing("shared caches")
    }

    /// Paths in the hidden folder of services that programs need.
    pub(super) fn shown_in_run() -> Vec<PathBuf> {
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        let resolver = resolver.filter(|path| path.starts_with("/run"));
        section_lines("shown in run")
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .chain(resolver)
            .collect()
    }

    /// Folders that ordinary builds write beside the workspace.
    pub(super) fn caches(&self) -> Vec<PathBuf> {
        let named = BUILD_OUTPUT_VARIABLES
            .iter()
            .filter_map(|name| absolute_path_variable(&self.environment, name));
        let listed = section_lines("caches").filter_map(|line| self.resolve(first_word(line)));
        listed
            .filter_map(canonical)
            .chain(named.filter_map(canonical))
            .collect()
    }

    /// The same folders one by one, including missing ones.
    pub(super) fn tool_caches(&self) -> Vec<ToolCache> {
        let named = BUILD_OUTPUT_VARIABLES.iter().filter_map(|name| {
            Some(ToolCache {
                name,
                path: absolute_path_variable(&self.environment, name)?,
                redirect: Some((name, "{}")),
            })
        });
        let listed = section_lines("caches").filter_map(|line| {
            let (place, redirect) = line.split_once(' ').unwrap_or((line, ""));
            Some(ToolCache {
                name: place,
                path: self.resolve(place)?,
                redirect: redirect.split_once('='),
            })
        });
        listed.chain(named).collect()
    }

    /// Folders inside of caches that agents may only read.
    pub(super) fn installed(&self) -> Vec<PathBuf> {
        let named = INSTALL_VARIABLES
            .iter()
            .filter_map(|name| absolute_path_variable(&self.environment, name));
        let listed = self.existing("installed").into_iter();
        let programs = self.search_path().into_iter();
        listed
            .chain(named.chain(programs).filter_map(canonical))
            .collect()
    }

    /// Initial content of an agent's caches: each folder, with the extensions of files in workspaces that may need it.
    pub(super) fn seeds(&self) -> Vec<(PathBuf, Vec<&'static str>)> {
        self.with_endings("seeds").collect()
    }

    /// Existing caches without any folder for downloads, in which a read-only path prevents creating one.
    pub(super) fn incomplete_caches(&self) -> Vec<ToolCache> {
        let downloads: Vec<PathBuf> = self.seeds().into_iter().map(|(path, _)| path).collect();
        let steering = self.steering();
        let is_incomplete = |cache: &ToolCache| {
            let Some(folder) = canonical(cache.path.clone()) else {
                return false;
            };
            let folders = downloads.iter().filter_map(|path| {
                let below = path.strip_prefix(&cache.path).ok()?;
                Some(cache.path.join(below.components().next()?))
            });
            let folders: Vec<PathBuf> = folders.collect();
            let is_closed = steering.iter().any(|it| it.path.parent() == Some(&folder));
            is_closed && !folders.is_empty() && !folders.iter().any(|path| path.exists())
        };
        let caches = self.tool_caches().into_iter();
        caches.filter(is_incomplete).collect()
    }

    /// Folders of compiled code and results, with extensions of files as for seeds.
    pub(super) fn results(&self) -> Vec<(PathBuf, Vec<&'static str>)> {
        let named = RESULT_CACHE_VARIABLES.iter().filter_map(|(name, endings)| {
            Some((
                absolute_path_variable(&self.environment, name)?,
                endings.to_vec(),
            ))
        });
        self.with_endings("results").chain(named).collect()
    }

    fn with_endings(&self, section: &str) -> impl Iterator<Item = (PathBuf, Vec<&'static str>)> {
        section_lines(section).filter_map(|line| {
            let mut words = line.split(' ');
            Some((self.resolve(words.next()?)?, words.collect()))
        })
    }

    /// Paths that are read-only although their surroundings are writable.
    pub(super) fn steering(&self) -> Vec<SteeringPath> {
        self.once(|survey| &survey.steering, || self.find_steering())
    }

    fn find_steering(&self) -> Vec<SteeringPath> {
        let listed = section_lines("steering").filter_map(|line| {
            let (place, may_be_created) = match line.strip_suffix('?') {
                Some(place) => (place, true),
                None => (line, false),
            };
            let (place, is_folder) = match place.strip_suffix('/') {
                Some(place) => (place, true),
                None => (place, false),
            };
            let path = self.resolve(place)?;
            let is_in_folder = path.parent().is_some_and(Path::is_dir);
            is_in_folder.then_some((path, is_folder, may_be_created))
        });
        let listed: Vec<_> = listed.collect();
        let of_agents: Vec<PathBuf> = agent_names()
            .flat_map(|agent| self.existing(agent))
            .collect();
        let settings = listed.iter().map(|(path, ..)| path.as_path());
        let named = self.files_named_in(settings.chain(of_agents.iter().map(PathBuf::as_path)));
        let programs = self.search_path().into_iter();
        let programs = programs.map(|folder| (folder, true, false));
        let linked = self.linked_programs().iter().cloned();
        let all = listed.into_iter().chain(programs).chain(linked);
        let all = all.chain(named.into_iter().map(|file| (file, false, false)));
        all.filter_map(|(path, is_folder, may_be_created)| {
            Some(SteeringPath {
                path: canonical_as_far_as_possible(&path)?,
                is_folder,
                may_be_created,
                is_missing: false,
            })
        })
        .collect()
    }

    /// The installations of programs that links in the folders of the search path lead to: paths, and whether they are
    /// folders.
    fn linked_programs(&self) -> &[(PathBuf, bool, bool)] {
        let find = || self.find_linked_programs();
        self.linked_programs.get_or_init(find)
    }

    fn find_linked_programs(&self) -> Vec<(PathBuf, bool, bool)> {
        let Some(home) = self.own_home() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // `/bin` may be a link to `/usr/bin`.
        let folders: BTreeSet<PathBuf> = self
            .search_path()
            .into_iter()
            .filter_map(canonical)
            .collect();
        for folder in folders {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries.take(MAX_LINKS) {
                if entry.file_type().is_ok_and(|kind| kind.is_symlink())
                    && let Some(program) = canonical(entry.path())
                    && program.starts_with(&home)
                {
                    found.push(self.installation_of(program));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// The installation of a program.
    pub(super) fn installation(&self, program: PathBuf) -> SteeringPath {
        let (path, is_folder, may_be_created) = self.installation_of(program);
        SteeringPath {
            path,
            is_folder,
            may_be_created,
            is_missing: false,
        }
    }

    /// The folder of a program that is installed in a folder of its own; otherwise the program.
    fn installation_of(&self, program: PathBuf) -> (PathBuf, bool, bool) {
        let folder = program.parent().map(|folder| match folder.file_name() {
            Some(name) if name == "bin" => folder.parent().unwrap_or(folder),
            _ => folder,
        });
        let caches = self.tool_caches();
        let contains_cache = |folder: &Path| caches.iter().any(|it| it.path.starts_with(folder));
        let home = self.home.as_deref();
        let folder = folder.filter(|folder| home != Some(folder) && !contains_cache(folder));
        match folder {
            Some(folder) => (folder.to_owned(), true, false),
            None => (program, false, false),
        }
    }

    /// The files in the home that these settings name, such as scripts of hooks and status lines.
    fn files_named_in<'p>(&self, settings: impl Iterator<Item = &'p Path>) -> BTreeSet<PathBuf> {
        let Some(home) = self.own_home() else {
            return BTreeSet::new();
        };
        let mut files = BTreeSet::new();
        for path in settings.filter(|path| path.is_file()) {
            let mut text = Vec::new();
            let read = fs::File::open(path)
                .and_then(|file| file.take(MAX_SETTINGS_BYTES).read_to_end(&mut text));
            if read.is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            let text = text
                .replace("${HOME}", "~")
                .replace("$HOME", "~")
                .replace("\"~\"", "~");
            let words = text.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>|&=".contains(c));
            let named = words.filter_map(|word| {
                let path = match word.strip_prefix("~/") {
                    Some(below) => home.join(below),
                    None => PathBuf::from(word),
                };
                let path = path.is_absolute().then(|| canonical(path)).flatten()?;
                (path.starts_with(&home) && path.is_file()).then_some(path)
            });
            files.extend(named);
        }
        files
    }

    /// The absolute folders of the search path, except those of an active virtual environment, which belong to the
    /// project.
    fn search_path(&self) -> Vec<PathBuf> {
        let path = self.environment.get(OsStr::new("PATH"));
        let folders = path.map(std::env::split_paths).into_iter().flatten();
        let project = absolute_path_variable(&self.environment, "VIRTUAL_ENV");
        let is_of_project =
            |folder: &PathBuf| project.as_ref().is_some_and(|it| folder.starts_with(it));
        folders
            .filter(|folder| folder.is_absolute() && !is_of_project(folder))
            .collect()
    }

    /// The home, unless it is the root or another folder with everything in it.
    pub(super) fn own_home(&self) -> Option<PathBuf> {
        let home = self.home.clone()?;
        (home.parent().is_some() && !is_temporary_folder(&home)).then_some(home)
    }

    /// Paths of a hidden home that programs need, such as the folders of the search path.
    pub(super) fn toolchains(&self) -> Vec<PathBuf> {
        let path = self.environment.get(OsStr::new("PATH"));
        let path: Vec<_> = path
            .map(|path| std::env::split_paths(path).filter_map(canonical).collect())
            .unwrap_or_default();
        self.existing_anywhere("toolchains", &FolderNames::default())
            .into_iter()
            .chain(path)
            .collect()
    }

    /// Paths where an agent keeps its data. If its kind may be any program, the program's name decides; a program with
    /// another name may start any agent.
    pub(super) fn agent_paths(&self, kind: AgentKind, program: &str) -> Vec<PathBuf> {
        agent_names_of(kind, program)
            .into_iter()
            .flat_map(|name| self.existing(name))
            .collect()
    }

    /// The same paths, after creating the folders that the agent would create itself but cannot, because their parent
    /// is not writable.
    pub(super) fn create_agent_paths(&self, kind: AgentKind, program: &str) -> Vec<PathBuf> {
        let names = agent_names_of(kind, program);
        let is_known = names.len() == 1;
        let places = names.into_iter().flat_map(section_lines);
        for folder in places.filter(|place| is_known && !is_file(place)) {
            if let Some(folder) = self.resolve(folder) {
                // If it cannot be created, the agent reports it.
                let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            }
        }
        self.agent_paths(kind, program)
    }

    /// The variable that moves an agent's configuration file out of the home, if that file does not exist yet.
    pub(super) fn config_redirect(&self, kind: AgentKind) -> Option<(OsString, OsString)> {
        let variable = "CLAUDE_CONFIG_DIR";
        let file = section_lines(kind.name()).find(|place| is_file(place))?;
        let is_set = self.environment.contains_key(OsStr::new(variable));
        let is_there = self.resolve(file).is_some_and(|path| path.exists());
        let folder = self.resolve(".claude").filter(|_| !is_set && !is_there)?;
        Some((variable.into(), folder.into()))
    }

    /// Paths where all other agents keep their data.
    pub(super) fn other_agents_paths(
        &self,
        kind: Option<AgentKind>,
        program: &str,
    ) -> Vec<PathBuf> {
        let own = kind.map(|kind| agent_names_of(kind, program));
        match own {
            Some(own) => self.find_agents_paths(&own),
            None => self.once(|survey| &survey.of_agents, || self.find_agents_paths(&[])),
        }
    }

    fn find_agents_paths(&self, own: &[&str]) -> Vec<PathBuf> {
        let names = FolderNames::default();
        agent_names()
            .filter(|other| !own.contains(other))
            .flat_map(|other| self.existing_anywhere(other, &names))
            .collect()
    }

    /// Path of a tool's cache, whether it exists or not.
    pub(super) fn resolve(&self, place: &str) -> Option<PathBuf> {
        if place.starts_with('/') {
            return Some(PathBuf::from(place));
        }
        for (rest, variable) in moves_of(place) {
            if let Some(moved) = absolute_path_variable(&self.environment, variable) {
                return Some(join_nonempty(moved, rest));
            }
        }
        self.home.as_ref().map(|home| home.join(place))
    }

    /// Existing paths of a section, both moved by a variable and at their default: the old folder remains after a
    /// move, and a variable may list several paths.
    fn existing_anywhere(&self, section: &str, names: &FolderNames) -> Vec<PathBuf> {
        section_lines(section)
            .flat_map(|place| {
                let moved = moves_of(place).filter_map(move |(rest, variable)| {
                    let value = self.environment.get(OsStr::new(variable))?;
                    Some(
                        std::env::split_paths(value)
                            .map(|path| join_nonempty(path, rest))
                            .collect::<Vec<_>>(),
                    )
                });
                // `join` keeps an absolute path as it is.
                let homes = self.home.iter().chain(&self.other_homes);
                let homes = homes.filter(move |home| names.may_exist(home, place));
                let usual = homes.map(move |home| home.join(place));
                let absolute = Path::new(place).is_absolute().then(|| place.into());
                moved.flatten().chain(usual).chain(absolute)
            })
            .filter(|path| path.is_absolute())
            .filter_map(canonical)
            .collect()
    }

    fn existing(&self, section: &str) -> Vec<PathBuf> {
        let places = section_lines(section).filter_map(|place| self.resolve(place));
        places.filter_map(canonical).collect()
    }
}

/// The names in the folders of homes, read once: most of the listed paths are missing, which takes no call then.
#[derive(Debug, Default)]
struct FolderNames(RefCell<HashMap<PathBuf, Option<HashSet<OsString>>>>);

impl FolderNames {
    /// Whether a place may exist below `home`; false only if it does not.
    fn may_exist(&self, home: &Path, place: &str) -> bool {
        let mut folder = home.to_owned();
        let mut read = self.0.borrow_mut();
        Path::new(place).components().all(|part| {
            let names = match read.get(&folder) {
                Some(names) => names,
                None => read
                    .entry(folder.clone())
                    .or_insert_with_key(|folder| names_in(folder)),
            };
            let is_there = names
                .as_ref()
                .is_none_or(|it| it.contains(part.as_os_str()));
            folder.push(part);
            is_there
        })
    }
}

/// The names in a folder, unless it cannot be read or has too many entries.
fn names_in(folder: &Path) -> Option<HashSet<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => {
            let mut names = HashSet::new();
            for entry in entries {
                names.insert(entry.ok()?.file_name());
                if names.len() > MAX_NAMES {
                    return None;
                }
            }
            Some(names)
        }
        Err(error) => {
            let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            is_missing.then(HashSet::new)
        }
    }
}

/// Joins without a trailing slash: the path may be a file.
fn join_nonempty(path: PathBuf, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        path
    } else {
        path.join(rest)
    }
}

/// The names of the sections that list an agent's paths.
fn agent_names() -> impl Iterator<Item = &'static str> {
    let kinds = AgentKind::ALL.into_iter().map(AgentKind::name);
    kinds.chain(PRECONFIGURED_PROGRAMS).chain(OTHER_PROGRAMS)
}

/// The sections with an agent's paths.
fn agent_names_of(kind: AgentKind, program: &str) -> Vec<&'static str> {
    if !accepts_any_program(kind) {
        return agent_names().filter(|name| *name == kind.name()).collect();
    }
    let is_meant = |name: &&str| program.split(['-', '_', '.']).any(|part| part == *name);
    // A kind such as `acp` has no paths of its own: the text is part of many names.
    let keeps_data = |name: &&str| section_lines(name).next().is_some();
    let meant: Vec<_> = agent_names().filter(is_meant).filter(keeps_data).collect();
    if meant.is_empty() {
        agent_names().collect()
    } else {
        meant
    }
}

/// Whether an agent of this kind may be any program: its protocol does not identify it.
fn accepts_any_program(kind: AgentKind) -> bool {
    matches!(kind, AgentKind::Command | AgentKind::Acp)
}

fn is_file(place: &str) -> bool {
    Path::new(place)
        .extension()
        .is_some_and(|end| end == "json")
}

/// The canonical path of the nearest existing folder above, with the rest of the path.
fn canonical_as_far_as_possible(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|above| {
        let found = canonical(above.to_owned())?;
        let rest = path.strip_prefix(above).ok()?;
        Some(join_nonempty(found, rest))
    })
}

fn first_word(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The lines of all sections: each session reads most of them, some of them several times.
static SECTIONS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut sections: HashMap<&'static str, Vec<&'static str>> = HashMap::new();
    let mut section = "";
    for line in PATH_TABLE.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if !line.is_empty() && !line.starts_with('#') {
            sections.entry(section).or_default().push(line);
        }
    }
    sections
});

fn section_lines(section: &str) -> impl Iterator<Item = &'static str> {
    SECTIONS.get(section).into_iter().flatten().copied()
}

/// The variables that may have moved a path of the list, each with the rest of the path.
fn moves_of(place: &str) -> impl Iterator<Item = (&Path, &'static str)> {
    RELOCATED_PREFIXES
        .iter()
        // Comparing paths by components takes much longer.
        .filter(|(beginning, _)| place.starts_with(beginning))
        .filter_map(|(beginning, variable)| {
            let rest = Path::new(place).strip_prefix(beginning).ok()?;
            Some((rest, *variable))
        })
}

/// Value of a variable, if it is an absolute path.
pub(super) fn absolute_path_variable(environment: &EnvironmentMap, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(environment.get(OsStr::new(name))?);
    path.is_absolute().then_some(path)
}

/// The canonical path, if it exists.
#[allow(clippy::needless_pass_by_value, reason = "it maps what iterators give")]
pub(super) fn canonical(path: PathBuf) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        // `canonicalize` takes a call for each component and each link of the path.
        use rustix::fs::{Mode, OFlags, open};
        use std::os::fd::AsRawFd;
        let file = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(found) = fs::read_link(link) {
            return Some(found);
        }
    }
    path.exists().then(|| path.canonicalize().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_moved_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in [
            "home/.ssh",
            "home/.codex",
            "elsewhere/gcloud",
            "home/.cargo",
            "tools",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let environment = [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "elsewhere"),
            ("PATH", "tools"),
        ];
        let environment = environment.map(|(name, path)| (name.into(), root.join(path).into()));
        let mut places = SandboxPaths::new(environment.into());
        places.other_homes.clear();
        let of_home = |paths: Vec<PathBuf>| -> Vec<_> {
            paths
                .into_iter()
                .filter(|path| path.starts_with(&root))
                .collect()
        };
        assert_eq!(
            of_home(places.masked()),
            [root.join("home/.ssh"), root.join("elsewhere/gcloud")]
        );
        assert_eq!(of_home(places.caches()), [root.join("home/.cargo")]);
        assert_eq!(
            places.agent_paths(AgentKind::Codex, ""),
            [root.join("home/.codex")]
        );
        assert_eq!(
            places.agent_paths(AgentKind::Acp, "codex-acp"),
            [root.join("home/.codex")]
        );
        let others = |kind, program| places.other_agents_paths(kind, program);
        assert_eq!(others(Some(AgentKind::Codex), ""), [] as [PathBuf; 0]);
        assert_eq!(
            others(Some(AgentKind::Acp), "gemini"),
            [root.join("home/.codex")]
        );
        assert_eq!(others(None, ""), [root.join("home/.codex")]);
        assert!(places.toolchains().contains(&root.join("tools")));
    }

    /// The mask of a folder does not hide what links in it lead to.
    #[test]
    fn targets_of_links_in_hidden_folders_are_found() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        for folder in [".aws", ".ssh/keys", "sync", "visible"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (link, target) in [
            (".aws/credentials", "sync/aws"),
            (".ssh/keys/id", "sync/id"),
            (".ssh/other", "visible"),
            (".ssh/system", "/etc/passwd"),
        ] {
            if target.starts_with("sync") {
                fs::write(home.join(target), "").unwrap();
            }
            std::os::unix::fs::symlink(home.join(target), home.join(link)).unwrap();
        }
        let environment = [("HOME", home.clone())].map(|(name, path)| (name.into(), path.into()));
        let mut places = SandboxPaths::new(environment.into());
        places.other_homes.clear();
        assert_eq!(
            places.linked_from_masked(),
            [home.join("sync/aws"), home.join("sync/id")]
        );
    }

    /// A program that could write these would decide what runs later, although the links and settings are read-only.
    #[test]
    fn link_targets_and_programs_named_in_settings_steer() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".local/share/tool/venv/bin/tool", "");
        write(".cargo/single", "");
        write(".cargo/registry/a", "");
        write(".claude/notify.sh", "");
        write(".claude/data.json", "");
        let settings =
            r#"{"statusLine": {"command": "sh ~/.claude/notify.sh --x"}, "a": "/etc/passwd"}"#;
        write(".claude/settings.json", settings);
        fs::create_dir(home.join("bin")).unwrap();
        for (link, target) in [
            ("tool", ".local/share/tool/venv/bin/tool"),
            ("single", ".cargo/single"),
            ("system", "/bin/sh"),
        ] {
            std::os::unix::fs::symlink(home.join(target), home.join("bin").join(link)).unwrap();
        }
        let environment = [("HOME", home.clone()), ("PATH", home.join("bin"))];
        let environment = environment.map(|(name, path)| (name.into(), path.into()));
        let steering = SandboxPaths::new(environment.into()).steering();
        let steers = |path: &str| steering.iter().any(|it| it.path == home.join(path));
        for path in [
            "bin",
            ".local/share/tool/venv",
            ".cargo/single",
            ".claude/notify.sh",
        ] {
            assert!(steers(path), "{path}");
        }
        for path in [".cargo", ".claude/data.json"] {
            assert!(!steers(path), "{path}");
        }
        assert!(!steering.iter().any(|it| it.path.starts_with("/etc")));
    }
}
