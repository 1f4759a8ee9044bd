//! The folders in which agents keep logins, settings and sessions (`~/.claude`, `~/.codex`, …). Much of what a program finds
//! there runs or instructs it, and each version reads more of it. So where folders can be mounted, a session gets a
//! folder of Selvedge's in place of each: what the agent writes there stays there. Settings in it are the user's,
//! read-only or copied; shared with the user are only logins, because agents renew them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::caches::{
    copy_private, create_parents, ensure_mount_point, make_private, relocated_folder,
};
use super::paths::SteeringPath;
use super::placeholders::create_file;
use super::plan::{PathAccess, RelocatedFolder};

/// Folder with these folders, below the caches of a workspace's agents.
const FOLDER: &str = "agents";

/// Folder with the empty files and folders that are mounted in place of missing settings.
const EMPTY_FOLDER: &str = "empty";

/// The largest file that is copied.
const MAX_COPIED_BYTES: u64 = 8 << 20;

/// Endings of records and databases, which are not settings: each folder has its own.
const RECORDS: &[&str] = &[
    "db",
    "db-shm",
    "db-wal",
    "jsonl",
    "lock",
    "log",
    "sqlite",
    "sqlite-shm",
    "sqlite-wal",
    "sqlite3",
];

/// The mounts in place of an agent's folder; `root` is the folder of the workspace's agents.
pub(super) fn mounts(
    folder: &Path,
    root: &Path,
    steering: &[SteeringPath],
    logins: &[PathBuf],
) -> io::Result<Vec<RelocatedFolder>> {
    let own = root
        .join(FOLDER)
        .join(crate::workspace::file_name_for(folder));
    make_private(&own)?;
    let own = own.canonicalize()?;
    let is_below = |path: &Path| path.starts_with(folder) && path != folder;
    let steering: Vec<&SteeringPath> = steering.iter().filter(|it| is_below(&it.path)).collect();
    let logins: Vec<&PathBuf> = logins.iter().filter(|path| is_below(path)).collect();
    let is_mounted = |path: &Path| {
        steering.iter().any(|it| it.path == path)
            || logins.iter().any(|login| login.as_path() == path)
    };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, at, kind) = (
            entry.path(),
            own.join(entry.file_name()),
            entry.file_type()?,
        );
        if kind.is_symlink() {
            // If the agent has put a folder there, that is its own loss.
            let _ = replace_by_link(&at, &fs::read_link(&path)?);
        } else if kind.is_dir() {
            let _ = fs::create_dir(&at);
        } else if kind.is_file() && !is_mounted(&path) && is_copied(&path) {
            let _ = copy_private(&path, &own);
        }
    }
    let mut mounts = vec![relocated_folder(&own, folder, PathAccess::Write)];
    let mut add = |source: &Path, place: &Path, access| {
        let at = place
            .strip_prefix(folder)
            .ok()
            .and_then(|below| create_parents(&own, below));
        if at.is_some_and(|at| ensure_mount_point(&at, source)) {
            mounts.push(relocated_folder(source, place, access));
        }
    };
    for login in logins {
        add(login, login, PathAccess::Write);
    }
    for it in &steering {
        let is_covered = steering
            .iter()
            .any(|other| other.path != it.path && it.path.starts_with(&other.path));
        if is_covered {
            continue;
        }
        if it.path.exists() {
            add(&it.path, &it.path, PathAccess::Read);
        } else if !it.may_be_created {
            let empty = empty_settings(&root.join(FOLDER).join(EMPTY_FOLDER), it)?;
            add(&empty, &it.path, PathAccess::Read);
        }
    }
    Ok(mounts)
}

/// Whether a file is one of settings.
fn is_copied(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let is_record = RECORDS
        .iter()
        .any(|ending| name.rsplit('.').next() == Some(ending));
    !is_record && fs::metadata(path).is_ok_and(|found| found.len() <= MAX_COPIED_BYTES)
}

fn replace_by_link(at: &Path, target: &Path) -> io::Result<()> {
    if fs::symlink_metadata(at).is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(at)?;
    }
    symlink(target, at)
}

/// An empty file or folder in place of missing settings.
fn empty_settings(root: &Path, missing: &SteeringPath) -> io::Result<PathBuf> {
    make_private(root)?;
    if missing.is_folder {
        let folder = root.join("folder");
        make_private(&folder)?;
        return Ok(folder);
    }
    let file = root.join(
        missing
            .path
            .file_name()
            .ok_or(io::ErrorKind::InvalidInput)?,
    );
    match create_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(file),
    }
}
