//! One repository's own folder: its hooks, its configuration, and the file that says where its common
//! parts are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::config;

/// Larger ones are no configuration that a person wrote.
const LARGEST: u64 = 1 << 20;
/// Read by git as configuration.
const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Leads git to another folder.
const COMMON: &str = "commondir";

#[derive(Debug, PartialEq, Eq)]
enum Hook {
    /// Its bytes and its permissions.
    File(Vec<u8>, u32),
    /// Where it leads.
    Link(PathBuf),
}

/// What of a repository was noted. That of one that was not there holds nothing.
#[derive(Debug, Default)]
pub(super) struct Repository {
    hooks: BTreeMap<OsString, Hook>,
    configurations: [Option<Vec<u8>>; 2],
    common: Option<Vec<u8>>,
}

impl Repository {
    pub(super) fn note(folder: &Path) -> Self {
        Self {
            hooks: hooks(folder),
            configurations: CONFIGURATIONS.map(|name| read(&folder.join(name))),
            common: read(&folder.join(COMMON)),
        }
    }

    /// Puts it back; gives the names of what was changed, below the folder.
    pub(super) fn put_back(&self, folder: &Path) -> Vec<String> {
        let mut changed = self.put_hooks_back(folder);
        let common = folder.join(COMMON);
        if read(&common) != self.common || common.is_symlink() {
            changed.push(COMMON.to_owned());
            replace(&common, self.common.as_deref());
        }
        for (name, before) in CONFIGURATIONS.iter().zip(&self.configurations) {
            let path = folder.join(name);
            if is_steered(&path, before.as_deref()) {
                changed.push((*name).to_owned());
                let needed = (*name == CONFIGURATIONS[0]).then_some(config::EMPTY);
                replace(&path, before.as_deref().or(needed));
            }
        }
        changed
    }

    fn put_hooks_back(&self, folder: &Path) -> Vec<String> {
        let mut changed = Vec::new();
        let now = hooks(folder);
        let folder = folder.join("hooks");
        for (name, hook) in &now {
            if self.hooks.get(name) != Some(hook) {
                changed.push(format!("hooks/{}", name.to_string_lossy()));
                let _ = fs::remove_file(folder.join(name));
            }
        }
        if folder.is_symlink() {
            changed.push("hooks".to_owned());
            let _ = fs::remove_file(&folder);
        }
        for (name, hook) in &self.hooks {
            if now.get(name) != Some(hook) {
                let _ = fs::create_dir_all(&folder);
                let path = folder.join(name);
                let _ = match hook {
                    Hook::File(bytes, mode) => write(&path, bytes, *mode),
                    Hook::Link(target) => symlink(target, &path),
                };
            }
        }
        changed
    }
}

/// Whether what now stands there makes git do something that it did not before.
fn is_steered(path: &Path, before: Option<&[u8]>) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    let steering = |bytes: Option<&[u8]>| {
        bytes.map_or_else(|| Some(Vec::new()), |it| config::steering(it, folder))
    };
    let now = read(path);
    if path
        .symlink_metadata()
        .is_ok_and(|found| !found.is_file() || now.is_none())
    {
        return true;
    }
    // What git cannot read is nothing that it wrote.
    now.as_deref() != before
        && (steering(now.as_deref()).is_none_or(|it| Some(it) != steering(before)))
}

pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= LARGEST).then(|| fs::read(path).ok())?
}

/// Puts this in the place of whatever is there, or nothing.
pub(super) fn replace(path: &Path, bytes: Option<&[u8]>) {
    let _ = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    let _ = bytes.map(|bytes| write(path, bytes, 0o644));
}

/// The hooks that git would run; its samples are none.
fn hooks(folder: &Path) -> BTreeMap<OsString, Hook> {
    let folder = folder.join("hooks");
    if !super::is_folder(&folder) {
        return BTreeMap::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_git = entries.filter(|entry| entry.path().extension().is_none_or(|end| end != "sample"));
    of_git
        .filter_map(|entry| {
            let path = entry.path();
            let hook = if path.is_symlink() {
                Hook::Link(fs::read_link(&path).ok()?)
            } else {
                Hook::File(read(&path)?, entry.metadata().ok()?.permissions().mode())
            };
            Some((entry.file_name(), hook))
        })
        .collect()
}

/// A new file in the place of whatever is there.
fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(mode & 0o777))?;
    file.persist(path)?;
    Ok(())
}
