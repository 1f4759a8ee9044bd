//! Caches of tools. Checks use the caches of the home, so no agent may write to these: agents get folders of their own
//! below Selvedge's state directory, which are mounted at the paths of the home's caches. The paths remain the same, so
//! an agent's build output is still valid for a check. Where mounts are impossible (Landlock), and where the home lacks
//! a common cache, an environment variable directs the tool to the agent's folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::paths::{SandboxPaths, SteeringPath, ToolCache, canonical};
use super::plan::{PathAccess, RelocatedFolder, SandboxPlan};
use crate::parallel;
use crate::removal::remove_all;
use crate::workspace::ResultCache;

/// The cache for all tools that have no own one. Shells, prompts and editors execute what is in it, so checks share
/// only known folders of it with the home.
const COMMON_CACHE: &str = ".cache";

/// Caches that a home may lack; sessions then get them by a variable. So do those whose downloads the workspace needs.
const COMMON_CACHES: &[&str] = &[".cargo", ".npm", ".cache", "go"];

/// The agents' caches, below Selvedge's state directory.
const AGENTS_FOLDER: &str = "caches/agents";

/// Caches for checks if the home lacks a cache, below Selvedge's state directory.
const CHECKS_FOLDER: &str = "caches/checks";

/// In the folder of a workspace: caches of agents that work there, and of judges.
const WORK_FOLDER: &str = "work";
const JUDGES_FOLDER: &str = "judges";

/// In the folder of a workspace: the path of the workspace. Written at each use, so that its age is that of the
/// folder.
const WORKSPACE_FILE: &str = "workspace";

/// In the folder of a workspace: marks the seeds as copied.
const SEEDED_MARKER: &str = "seeded";

/// Maximum size of all seeds in bytes and in files. A seed that exceeds the rest is skipped.
const SEED_LIMIT: CopyBudget = CopyBudget {
    bytes: 512 << 20,
    files: 30_000,
};

/// How long an agent's folder is kept after its last use.
const RETENTION: Duration = Duration::from_hours(30 * 24);

/// How long it is kept if its workspace is missing: a clone that will soon be created again has the same path.
const ORPHAN_RETENTION: Duration = Duration::from_hours(1);

/// The home of a check.
pub(super) struct CheckHome<'a> {
    pub(super) places: &'a SandboxPaths,
    pub(super) workspace: &'a Path,
    pub(super) steering: &'a [SteeringPath],
    /// Paths that the check may write anyway.
    pub(super) opened: &'a [PathBuf],
}

/// Access of a session to caches.
#[derive(Debug, Default)]
pub(super) struct CacheAccess {
    /// Folders that are writable at their own paths.
    pub(super) writable: Vec<PathBuf>,
    /// Folders that are mounted at other paths.
    relocated: Vec<RelocatedFolder>,
    /// Variables that direct tools to other folders.
    pub(super) variables: Vec<(OsString, OsString)>,
}

impl CacheAccess {
    /// Adds the mounts to a plan. Masks of paths that do not exist in a new mount are dropped: a mask needs a mount
    /// point.
    pub(super) fn add_to_plan(self, plan: &mut SandboxPlan) {
        let mounted: Vec<(PathBuf, PathBuf)> = self
            .relocated
            .iter()
            .map(|mount| {
                (
                    PathBuf::from(&mount.mount_point),
                    PathBuf::from(&mount.source),
                )
            })
            .collect();
        plan.masked.retain(|masked| {
            let masked = PathBuf::from(masked);
            let covering = mounted.iter().filter_map(|(place, source)| {
                let below = masked.strip_prefix(place).ok()?;
                let at = source.join(below);
                Some((place.as_os_str().len(), masked == *place || at.exists()))
            });
            let nearest = covering.max_by_key(|(length, _)| *length);
            nearest.is_none_or(|(_, exists)| exists)
        });
        plan.relocated.extend(self.relocated);
    }

    /// The folders that a session may write in the home.
    pub(super) fn writable_in_home(&self) -> Vec<PathBuf> {
        let mounted = self
            .relocated
            .iter()
            .filter(|it| it.access == PathAccess::Write && it.source == it.mount_point);
        let mounted = mounted.map(|it| PathBuf::from(&it.mount_point));
        self.writable.iter().cloned().chain(mounted).collect()
    }

    /// Replaces the common cache of the home by a folder of the checks, except for the folders that they share with it.
    fn separate_common_cache(
        &mut self,
        check: &CheckHome<'_>,
        state: &Path,
        can_mount: bool,
        environment: &[EnvironmentVariable],
    ) {
        let places = check.places;
        let Some((cache, home)) = common_cache(places, check.opened) else {
            return;
        };
        let Ok(own) = own_common_cache(state) else {
            return;
        };
        let is_below = |path: &PathBuf| path.starts_with(&home) && *path != home;
        let shared = self.writable.iter().cloned().chain(places.shared_caches());
        let mut shared: Vec<PathBuf> = shared.filter(is_below).collect();
        shared.sort();
        shared.dedup();
        self.writable.retain(|path| !path.starts_with(&home));
        let steering = check.steering.iter().map(|it| it.path.clone());
        let read = places.installed().into_iter().chain(steering);
        let read = read.filter(|path| {
            is_below(path) && path.exists() && !shared.iter().any(|it| path.starts_with(it))
        });
        let shared = shared.iter().map(|path| (path.clone(), PathAccess::Write));
        let all: Vec<(PathBuf, PathAccess)> = shared
            .chain(read.map(|path| (path, PathAccess::Read)))
            .collect();
        let in_own = |path: &Path| create_parents(&own, path.strip_prefix(&home).ok()?);
        if can_mount {
            self.relocated
                .push(relocated_folder(&own, &home, PathAccess::Write));
            for (path, access) in all {
                if in_own(&path).is_some_and(|at| ensure_mount_point(&at, &path)) {
                    self.relocated.push(relocated_folder(&path, &path, access));
                }
            }
        } else if let Some(redirect) = cache.redirect {
            for (path, access) in all {
                if let Some(link) = in_own(&path) {
                    create_link(&path, &link);
                }
                if access == PathAccess::Write {
                    self.writable.push(path);
                }
            }
            self.redirect(redirect, &own, environment);
        }
    }

    /// Sets a variable of a redirection to a folder; a value that begins with an option is appended to the existing
    /// value.
    fn redirect(
        &mut self,
        (name, value): (&str, &str),
        folder: &Path,
        environment: &[EnvironmentVariable],
    ) {
        let Some(folder) = folder.to_str() else {
            return;
        };
        let value = value.replace("{}", folder);
        if !value.starts_with('-') {
            self.variables.push((name.into(), value.into()));
            return;
        }
        if folder.contains(char::is_whitespace) {
            return;
        }
        let earlier = self.variables.iter().position(|(set, _)| set == name);
        let before = match earlier {
            Some(index) => Some(self.variables.swap_remove(index).1),
            None => value_of(environment, name).map(OsStr::to_owned),
        };
        let mut all = before.unwrap_or_default();
        if !all.is_empty() {
            all.push(" ");
        }
        all.push(value);
        self.variables.push((name.into(), all));
    }
}

type EnvironmentVariable = (OsString, OsString);

fn value_of<'a>(environment: &'a [EnvironmentVariable], name: &str) -> Option<&'a OsStr> {
    let found = environment.iter().find(|(set, _)| set == name);
    found.map(|(_, value)| value.as_os_str())
}

/// For a check: the caches of the home, and folders below Selvedge's state directory that no agent gets instead of
/// common ones that are missing. Without mounts, nothing can be created beside a read-only file, so a cache that still
/// lacks a folder for downloads is replaced as well.
pub(super) fn check_cache_access(
    home: &CheckHome<'_>,
    state: &Path,
    can_mount: bool,
    environment: &[EnvironmentVariable],
) -> CacheAccess {
    let places = home.places;
    let mut access = CacheAccess {
        writable: places.caches(),
        ..CacheAccess::default()
    };
    access.separate_common_cache(home, state, can_mount, environment);
    let own = state.join(CHECKS_FOLDER);
    let incomplete = if can_mount {
        Vec::new()
    } else {
        places.incomplete_caches()
    };
    let incomplete = incomplete.into_iter().map(|cache| (cache, true));
    let missing = missing_caches(places, home.workspace).map(|cache| (cache, false));
    for (cache, is_incomplete) in missing.chain(incomplete) {
        let Some(redirect) = cache.redirect else {
            continue;
        };
        let folder = own.join(folder_name(cache.name));
        let is_set = value_of(environment, redirect.0).is_some();
        if (is_set && !is_incomplete) || make_private(&folder).is_err() {
            continue;
        }
        if let Some(home) = canonical(cache.path).filter(|_| is_incomplete) {
            link_installed(&places.installed(), &home, &folder);
        }
        access.redirect(redirect, &folder, environment);
    }
    // All of them at once: each mount takes time.
    if !access.variables.is_empty() {
        access.writable.extend(canonical(own));
    }
    access
}

/// Links the programs and settings of a cache into the folder that replaces the cache.
fn link_installed(installed: &[PathBuf], home: &Path, folder: &Path) {
    for path in installed {
        let below = path.strip_prefix(home).ok();
        if let Some(link) = below.and_then(|below| create_parents(folder, below)) {
            create_link(path, &link);
        }
    }
}

/// The common cache of the home and its path, unless a session may write it or something around it anyway.
fn common_cache(places: &SandboxPaths, opened: &[PathBuf]) -> Option<(ToolCache, PathBuf)> {
    let mut caches = places.tool_caches().into_iter();
    let cache = caches.find(|cache| cache.name == COMMON_CACHE)?;
    let home = canonical(cache.path.clone())?;
    let is_opened = opened
        .iter()
        .any(|open| home.starts_with(open) || open.starts_with(&home));
    (!is_opened).then_some((cache, home))
}

/// The checks' folder in place of the common cache.
fn own_common_cache(state: &Path) -> io::Result<PathBuf> {
    let own = state.join(CHECKS_FOLDER).join(folder_name(COMMON_CACHE));
    make_private(&own)?;
    own.canonicalize()
}

/// The caches of checks that contain compiled code and results. If the home lacks a common cache, it is below
/// Selvedge's state directory.
pub(super) fn find_result_caches(
    places: &SandboxPaths,
    state: &Path,
    workspace: &Path,
    opened: &[PathBuf],
) -> Vec<ResultCache> {
    let separate = common_cache(places, opened)
        .and_then(|(cache, home)| Some((cache.path, home, own_common_cache(state).ok()?)));
    let names = names_in(workspace);
    let missing: Vec<ToolCache> = missing_caches(places, workspace).collect();
    let found = places.results().into_iter().filter_map(|(path, endings)| {
        // In the checks' own folder it begins empty.
        if let Some((cache, home, own)) = separate.as_ref().filter(|_| !path.exists())
            && let Ok(below) = path.strip_prefix(cache)
        {
            make_private(&own.join(below)).ok()?;
            return Some(ResultCache {
                path: home.join(below),
                is_used: false,
            });
        }
        let instead = missing.iter().find_map(|cache| {
            let below = path.strip_prefix(&cache.path).ok()?;
            let folder = state.join(CHECKS_FOLDER).join(folder_name(cache.name));
            let folder = folder.join(below);
            make_private(&folder).ok().map(|()| folder)
        });
        let place = canonical(instead.unwrap_or(path)).filter(|path| path.is_dir())?;
        let is_needed = |name: &String| endings.iter().any(|ending| name.ends_with(ending));
        let is_used = names.iter().any(is_needed);
        Some(ResultCache {
            path: place,
            is_used,
        })
    });
    let mut found: Vec<ResultCache> = found.collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|other, kept| other.path.starts_with(&kept.path));
    found
}

/// For an agent: folders of its own below `root`. Paths in `opened` are writable anyway, and are not replaced.
pub(super) fn agent_cache_access(
    places: &SandboxPaths,
    root: &Path,
    workspace: &Path,
    can_mount: bool,
    opened: &[PathBuf],
    environment: &[EnvironmentVariable],
) -> CacheAccess {
    let mut access = CacheAccess::default();
    let installed = places.installed();
    let needed = needed_caches(places, workspace);
    for cache in places.tool_caches() {
        let home = canonical(cache.path.clone());
        let stays = |path: &PathBuf| {
            installed.contains(path) || opened.iter().any(|open| path.starts_with(open))
        };
        let is_common = needed.contains(&cache.name);
        if home.as_ref().map_or(!is_common, stays) {
            continue;
        }
        let own = root.join(folder_name(cache.name));
        // Without it the tool reports that it cannot write.
        let Some(own) = make_private(&own).ok().and_then(|()| canonical(own)) else {
            continue;
        };
        let kept: Vec<(&PathBuf, PathBuf)> = installed
            .iter()
            .filter_map(|path| {
                let below = path.strip_prefix(home.as_ref()?).ok()?;
                Some((path, create_parents(&own, below)?))
            })
            .collect();
        match (home.filter(|_| can_mount), cache.redirect) {
            (Some(home), _) => {
                access
                    .relocated
                    .push(relocated_folder(&own, &home, PathAccess::Write));
                let kept = kept
                    .iter()
                    .filter(|(path, at)| ensure_mount_point(at, path));
                let kept = kept.map(|(path, _)| relocated_folder(path, path, PathAccess::Read));
                access.relocated.extend(kept);
            }
            (None, Some(redirect)) => {
                for (path, link) in &kept {
                    create_link(path, link);
                }
                access.redirect(redirect, &own, environment);
                access.writable.push(own);
            }
            (None, None) => {}
        }
    }
    access
}

pub(super) fn relocated_folder(source: &Path, place: &Path, access: PathAccess) -> RelocatedFolder {
    RelocatedFolder {
        source: source.as_os_str().into(),
        mount_point: place.as_os_str().into(),
        access,
    }
}

/// The path below an agent's folder, after creating the folders above it. `None` if the agent has replaced one of them
/// by a link or a file: nothing that an agent wrote is followed.
pub(super) fn create_parents(own: &Path, below: &Path) -> Option<PathBuf> {
    let mut folder = own.to_owned();
    for part in below.parent()? {
        folder.push(part);
        let _ = fs::create_dir(&folder);
        fs::symlink_metadata(&folder)
            .ok()
            .filter(fs::Metadata::is_dir)?;
    }
    Some(own.join(below))
}

/// Whether a file or folder can be mounted there; a missing mount point is created. A session without mounts may have
/// left a link, and an agent something of another kind.
pub(super) fn ensure_mount_point(at: &Path, source: &Path) -> bool {
    let found = || fs::symlink_metadata(at);
    let is_folder = source.is_dir();
    if found().is_ok_and(|found| found.is_symlink() || found.is_dir() != is_folder) {
        let _ = remove_all(at);
    }
    let _ = if is_folder {
        fs::create_dir(at)
    } else {
        fs::File::create_new(at).map(drop)
    };
    found().is_ok_and(|found| !found.is_symlink() && found.is_dir() == is_folder)
}

/// Makes installed files readable without mounts. Files that an agent has put there are kept; an empty file or folder
/// is the mount point of a session with mounts, and is replaced.
fn create_link(source: &Path, link: &Path) {
    match fs::symlink_metadata(link) {
        Ok(found) if found.is_dir() => {
            let _ = fs::remove_dir(link);
        }
        Ok(found) if found.is_file() && found.len() == 0 => {
            let _ = fs::remove_file(link);
        }
        _ => {}
    }
    let _ = symlink(source, link);
}

/// Needed caches that the home lacks.
fn missing_caches(places: &SandboxPaths, workspace: &Path) -> impl Iterator<Item = ToolCache> {
    let needed = needed_caches(places, workspace);
    let caches = places.tool_caches().into_iter();
    caches.filter(move |cache| needed.contains(&cache.name) && !cache.path.exists())
}

/// The names of the common caches, and of those that tools need that the files of the workspace are for.
fn needed_caches(places: &SandboxPaths, workspace: &Path) -> Vec<&'static str> {
    let names = names_in(workspace);
    let seeds = places.seeds().into_iter();
    let needed = seeds.filter(|(_, endings)| {
        let is_needed = |name: &String| endings.iter().any(|ending| name.ends_with(ending));
        names.iter().any(is_needed)
    });
    let downloads: Vec<PathBuf> = needed.map(|(path, _)| path).collect();
    let is_needed = |cache: &ToolCache| {
        COMMON_CACHES.contains(&cache.name)
            || downloads.iter().any(|path| path.starts_with(&cache.path))
    };
    let caches = places.tool_caches().into_iter();
    caches.filter(is_needed).map(|cache| cache.name).collect()
}

/// The folder's name for a cache: `local-share-pnpm-store`.
fn folder_name(place: &str) -> String {
    let place = place.trim_start_matches('.').replace('/', "-");
    place.to_lowercase()
}

/// Name of the folder for agents, or for judges: these do not share caches with the agents that they judge.
pub(super) fn agents_folder(works_here: bool) -> &'static str {
    if works_here {
        WORK_FOLDER
    } else {
        JUDGES_FOLDER
    }
}

/// Copies a file of the user into a private folder, in place of an earlier copy.
pub(super) fn copy_private(file: &Path, root: &Path) -> io::Result<PathBuf> {
    make_private(root)?;
    let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let copy = root.join(name);
    let mut new = tempfile::NamedTempFile::new_in(root)?;
    let mut old = fs::File::open(file)?;
    io::copy(&mut old, &mut new)?;
    let mode = old.metadata()?.permissions().mode() & 0o700;
    new.as_file()
        .set_permissions(fs::Permissions::from_mode(mode | 0o600))?;
    new.persist(&copy)?;
    Ok(copy)
}

pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// The folder with the caches of one workspace's agents; working agents and judges have a subfolder each.
pub(super) fn agent_caches_folder(state: &Path, workspace: &Path) -> PathBuf {
    let name = crate::workspace::file_name_for(workspace);
    state.join(AGENTS_FOLDER).join(name)
}

/// Marks a folder as used, and removes unused ones in the same parent folder. Blocks.
pub(super) fn mark_agent_caches(root: &Path, workspace: &Path) -> io::Result<()> {
    make_private(root)?;
    fs::write(
        root.join(WORKSPACE_FILE),
        workspace.as_os_str().as_encoded_bytes(),
    )?;
    if let Some(all) = root.parent() {
        let stale = list_agent_caches(all)
            .into_iter()
            .filter(AgentCaches::is_stale);
        for folder in stale.filter(|folder| folder.path != root) {
            // If it cannot be removed now, it may be next time.
            let _ = remove_all(&folder.path);
        }
    }
    Ok(())
}

/// Fills a new folder. Blocks.
pub(super) fn seed_agent_caches(
    places: &SandboxPaths,
    root: &Path,
    workspace: &Path,
) -> io::Result<()> {
    if root.join(SEEDED_MARKER).exists() {
        return Ok(());
    }
    let of_work = root.join(WORK_FOLDER);
    make_private(&of_work)?;
    copy_seeds(places, &of_work, workspace);
    fs::write(root.join(SEEDED_MARKER), "")
}

/// Copies downloads from the home to an agent's folder, each seed completely or not at all: missing downloads are
/// downloaded again.
fn copy_seeds(places: &SandboxPaths, root: &Path, workspace: &Path) {
    let names = names_in(workspace);
    let mut left = SEED_LIMIT;
    for (from, endings) in places.seeds() {
        let Some(from) = canonical(from) else {
            continue;
        };
        let is_needed = |name: &String| endings.iter().any(|ending| name.ends_with(ending));
        if !names.iter().any(is_needed) {
            continue;
        }
        let caches = places.tool_caches().into_iter();
        let of_cache = caches.filter_map(|cache| {
            let home = canonical(cache.path)?;
            let below = from.strip_prefix(&home).ok()?;
            let to = root.join(folder_name(cache.name)).join(below);
            Some((home.as_os_str().len(), to))
        });
        // If caches are nested, the innermost one gets it.
        let Some((_, to)) = of_cache.max_by_key(|(length, _)| *length) else {
            continue;
        };
        let Some(rest) = left.remaining_after(&from) else {
            continue;
        };
        if !to.exists() && copy_whole(&from, &to, root).is_ok() {
            left = rest;
        }
    }
}

/// File names in a folder and in its direct subfolders.
fn names_in(workspace: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries(workspace) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            let below = entries(&entry.path());
            names.extend(below.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        } else {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names
}

#[derive(Debug, Clone, Copy)]
struct CopyBudget {
    bytes: u64,
    files: u64,
}

impl CopyBudget {
    /// The budget that is left after a folder; `None` if the folder is larger.
    fn remaining_after(mut self, folder: &Path) -> Option<Self> {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).ok()? {
                let entry = entry.ok()?;
                let found = entry.metadata().ok()?;
                if found.is_dir() {
                    folders.push(entry.path());
                }
                self.files = self.files.checked_sub(1)?;
                self.bytes = self.bytes.checked_sub(found.len())?;
            }
        }
        Some(self)
    }
}

/// Copies a folder completely or not at all.
fn copy_whole(from: &Path, to: &Path, scratch: &Path) -> io::Result<()> {
    let made = tempfile::Builder::new()
        .prefix(".copy-")
        .tempdir_in(scratch)?;
    let copy = made.path().join("copy");
    let mut folders = vec![(from.to_owned(), copy.clone())];
    let mut files = Vec::new();
    while let Some((from, to)) = folders.pop() {
        fs::create_dir(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                folders.push((entry.path(), to));
            } else if kind.is_symlink() {
                symlink(fs::read_link(entry.path())?, to)?;
            } else if kind.is_file() {
                files.push((entry.path(), to));
            }
        }
    }
    for copied in parallel::map(&files, |(from, to)| fs::copy(from, to)) {
        copied?;
    }
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    fs::rename(copy, to)
}

/// The caches of one workspace's agents.
#[derive(Debug, Clone)]
pub struct AgentCaches {
    /// Their path, below Selvedge's state directory.
    pub path: PathBuf,
    /// The workspace that they belong to.
    pub workspace: PathBuf,
    /// Time of their last use.
    pub used: SystemTime,
}

impl AgentCaches {
    /// All caches below Selvedge's state directory.
    pub fn all(state: &Path) -> Vec<Self> {
        list_agent_caches(&state.join(AGENTS_FOLDER))
    }

    /// Whether they are older than the retention, or belong to a missing workspace.
    pub fn is_stale(&self) -> bool {
        let kept = if self.workspace.exists() {
            RETENTION
        } else {
            ORPHAN_RETENTION
        };
        self.is_unused_for(kept)
    }

    /// Whether their last use is longer ago than `time`.
    pub fn is_unused_for(&self, time: Duration) -> bool {
        let passed = SystemTime::now().duration_since(self.used);
        passed.is_ok_and(|passed| passed > time)
    }
}

fn list_agent_caches(all: &Path) -> Vec<AgentCaches> {
    let folders = fs::read_dir(all).into_iter().flatten().flatten();
    let listed = folders.filter_map(|folder| {
        let path = folder.path();
        // A folder without a record is new, or is a remnant.
        let record = fs::metadata(path.join(WORKSPACE_FILE)).or_else(|_| folder.metadata());
        let workspace = fs::read(path.join(WORKSPACE_FILE)).unwrap_or_default();
        Some(AgentCaches {
            path,
            workspace: PathBuf::from(OsString::from_vec(workspace)),
            used: record.ok()?.modified().ok()?,
        })
    });
    let mut listed: Vec<_> = listed.collect();
    listed.sort_by(|one, other| one.path.cmp(&other.path));
    listed
}

#[cfg(test)]
mod tests;
