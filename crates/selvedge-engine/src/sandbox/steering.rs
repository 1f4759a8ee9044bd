//! What in a repository's own folder makes git run programs: hooks, and some keys of its
//! configuration. No snapshot holds them, sessions may write there, and a person's next `git status`
//! would carry out what they left, outside of all walls. So they are noted before a session and put
//! back after it, when its tree is gone; with any backend, and with none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::git_folder;

/// What the last words of a key that names a program are, and sections all of whose keys do.
const KEYS: &[&str] = &[
    "fsmonitor",
    "hookspath",
    "sshcommand",
    "pager",
    "editor",
    "askpass",
    "gitproxy",
    "textconv",
    "command",
    "driver",
    "clean",
    "smudge",
    "process",
    "helper",
    "program",
    "insteadof",
    "pushinsteadof",
    "uploadpack",
    "receivepack",
    "attributesfile",
    "worktree",
    "cmd",
    "path",
    "templatedir",
    "external",
    "signingkey",
    "vcs",
    "recursesubmodules",
];
const SECTIONS: &[&str] = &[
    "include",
    "includeif",
    "alias",
    "pager",
    "credential",
    "gpg",
    "filter",
];

/// Larger ones are no configuration that a person wrote.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
enum Hook {
    /// Its bytes and its permissions.
    File(Vec<u8>, u32),
    /// Where it leads.
    Link(PathBuf),
}

/// The state before a session.
#[derive(Debug)]
pub(crate) struct Steering {
    folder: PathBuf,
    config: Option<Vec<u8>>,
    hooks: BTreeMap<OsString, Hook>,
}

impl Steering {
    /// Notes it.
    pub(crate) fn note(workspace: &Path) -> Self {
        let folder = git_folder(workspace).unwrap_or_else(|| workspace.join(".git"));
        Self {
            config: read(&folder.join("config")),
            hooks: hooks(&folder),
            folder,
        }
    }

    /// Puts it back, and says what was changed. Nothing of the session may run any more.
    pub(crate) fn put_back(&self) -> Vec<String> {
        if !is_folder(&self.folder) {
            return Vec::new();
        }
        let mut changed = Vec::new();
        let now = hooks(&self.folder);
        let folder = self.folder.join("hooks");
        for (name, hook) in &now {
            if self.hooks.get(name) != Some(hook) {
                changed.push(format!(".git/hooks/{}", name.to_string_lossy()));
                let _ = fs::remove_file(folder.join(name));
            }
        }
        if folder
            .symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
        {
            changed.push(".git/hooks".to_owned());
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
        let path = self.folder.join("config");
        let config = read(&path);
        let is_plain = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let runs = |config: &Option<Vec<u8>>| steering(config.as_deref().unwrap_or_default());
        if runs(&config) != runs(&self.config) || (config.is_some() && !is_plain) {
            changed.push(".git/config".to_owned());
            let _ = fs::remove_file(&path);
            let before = self.config.clone();
            let without = || harmless(config.as_deref().unwrap_or_default());
            let _ = write(&path, &before.unwrap_or_else(without), 0o644);
        }
        changed
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= LARGEST).then(|| fs::read(path).ok())?
}

/// The hooks that git would run; its samples are none.
fn hooks(folder: &Path) -> BTreeMap<OsString, Hook> {
    let folder = folder.join("hooks");
    if !is_folder(&folder) {
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

/// Lines of a configuration that make git run something, each with its section.
fn steering(config: &[u8]) -> Vec<String> {
    lines(config)
        .filter(|(_, steers)| *steers)
        .map(|(line, _)| line)
        .collect()
}

/// A configuration without them.
fn harmless(config: &[u8]) -> Vec<u8> {
    let lines = lines(config).filter(|(_, steers)| !steers);
    lines
        .map(|(line, _)| line + "\n")
        .collect::<String>()
        .into_bytes()
}

fn lines(config: &[u8]) -> impl Iterator<Item = (String, bool)> {
    let text = String::from_utf8_lossy(config).into_owned();
    let mut section = String::new();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.into_iter().map(move |line| {
        let mut rest = line.trim();
        if let Some(head) = rest.strip_prefix('[') {
            let (name, after) = head.split_once(']').unwrap_or((head, ""));
            let name = name.split([' ', '"', '.']).next().unwrap_or_default();
            section = name.to_lowercase();
            rest = after.trim();
        }
        let key = rest
            .split(['=', ' ', '\t'])
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let steers = !key.is_empty()
            && (KEYS.contains(&key.as_str()) || SECTIONS.contains(&section.as_str()));
        (line, steers)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_git_run_something_is_put_back_and_nothing_else() {
        let workspace = tempfile::tempdir().unwrap();
        let git = workspace.path().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nmake lint\n").unwrap();
        let before = Steering::note(workspace.path());
        assert_eq!(before.put_back(), [] as [String; 0]);

        // A branch that is followed is no offence.
        let followed = "[core]\n\tbare = false\n[branch \"x\"]\n\tremote = origin\n";
        fs::write(git.join("config"), followed).unwrap();
        assert_eq!(before.put_back(), [] as [String; 0]);
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), followed);

        fs::write(git.join("config"), "[core] fsmonitor = ./evil\n").unwrap();
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nevil\n").unwrap();
        fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\nevil\n").unwrap();
        let said = before.put_back();
        assert_eq!(
            said,
            [
                ".git/hooks/post-checkout",
                ".git/hooks/pre-commit",
                ".git/config"
            ]
        );
        assert!(!git.join("hooks/post-checkout").exists());
        assert!(
            fs::read_to_string(git.join("hooks/pre-commit"))
                .unwrap()
                .contains("make lint")
        );
        assert!(
            fs::read_to_string(git.join("config"))
                .unwrap()
                .contains("bare")
        );
    }

    #[test]
    fn a_link_in_its_place_is_not_written_through() {
        let workspace = tempfile::tempdir().unwrap();
        let (git, other) = (
            workspace.path().join(".git"),
            workspace.path().join("other"),
        );
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(&other, "[alias]\n\tx = !evil\n").unwrap();
        let before = Steering::note(workspace.path());
        fs::remove_file(git.join("config")).unwrap();
        symlink(&other, git.join("config")).unwrap();
        assert_eq!(before.put_back(), [".git/config"]);
        assert!(fs::read_to_string(&other).unwrap().contains("evil"));
        assert!(git.join("config").symlink_metadata().unwrap().is_file());
    }
}
