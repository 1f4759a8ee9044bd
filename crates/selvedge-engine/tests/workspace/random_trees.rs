//! Random trees that are small but full of difficult cases: names that collide or are not UTF-8, links to anywhere,
//! unusual modes, ignored and large files, caches, pipes, nested repositories and hard links.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;

use super::fixture::{WorkspaceFixture, make_pipe};

/// A change of a tree. It replaces whatever is in its way.
#[derive(Debug, Clone)]
pub(super) enum TreeOperation {
    File {
        path: PathBuf,
        mode: u32,
        bytes: Vec<u8>,
    },
    Link {
        path: PathBuf,
        target: PathBuf,
    },
    HardLink {
        path: PathBuf,
        of: PathBuf,
    },
    Folder {
        path: PathBuf,
        mode: u32,
    },
    Pipe {
        path: PathBuf,
    },
    Nested {
        path: PathBuf,
    },
    Ignore {
        folder: PathBuf,
        rules: Vec<&'static str>,
    },
    Remove {
        path: PathBuf,
    },
}

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"A",
    b"dist",
    b"target",
    b"node_modules",
    b"sp ace",
    b"new\nline",
    b"\xff\xfe",
    "\u{e9}".as_bytes(),
    b"\"q\"",
    b"back\\slash",
    b"-n",
    b"x.log",
    b"y.log",
    b"git~1",
    b".GIT",
    b"..a",
];
const TARGETS: &[&str] = &[
    "a",
    "b/c",
    "..",
    "../../outside",
    "/etc/passwd",
    "missing",
    "\u{e9}",
    ".",
];
const RULES: &[&str] = &[
    "*.log",
    "a",
    "b/",
    "/c",
    "!x.log",
    "dist/",
    "target",
    "node_modules/",
    "*",
    "!a",
    "sp\\ ace",
];

fn name() -> impl Strategy<Value = &'static OsStr> {
    select(NAMES).prop_map(OsStr::from_bytes)
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.into_iter().collect())
}

fn act() -> impl Strategy<Value = TreeOperation> {
    let file_mode = select(&[0o644, 0o644, 0o755, 0o600, 0o444, 0o711, 0o400][..]);
    let folder_mode = select(&[0o755, 0o755, 0o700, 0o555][..]);
    // On both sides of every limit that the property sets.
    let length = prop_oneof![4 => 0..12_usize, 1 => 30..50_usize, 1 => 150..220_usize];
    let bytes = (any::<u8>(), length).prop_map(|(byte, length)| vec![byte; length]);
    let rules = prop::collection::vec(select(RULES), 0..4);
    let folder = prop_oneof![1 => Just(PathBuf::new()), 1 => path()];
    prop_oneof![
        12 => (path(), file_mode, bytes)
            .prop_map(|(path, mode, bytes)| TreeOperation::File { path, mode, bytes }),
        3 => (path(), select(TARGETS))
            .prop_map(|(path, target)| TreeOperation::Link { path, target: target.into() }),
        2 => (path(), path()).prop_map(|(path, of)| TreeOperation::HardLink { path, of }),
        3 => (path(), folder_mode).prop_map(|(path, mode)| TreeOperation::Folder { path, mode }),
        1 => path().prop_map(|path| TreeOperation::Pipe { path }),
        1 => path().prop_map(|path| TreeOperation::Nested { path }),
        3 => (folder, rules).prop_map(|(folder, rules)| TreeOperation::Ignore { folder, rules }),
        4 => path().prop_map(|path| TreeOperation::Remove { path }),
    ]
}

pub(super) fn acts(most: usize) -> impl Strategy<Value = Vec<TreeOperation>> {
    prop::collection::vec(act(), 0..most)
}

impl TreeOperation {
    pub(super) fn perform(&self, fixture: &WorkspaceFixture) {
        match self {
            Self::File { path, mode, bytes } => {
                let path = make_way(fixture, path);
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
            }
            Self::Link { path, target } => symlink(target, make_way(fixture, path)).unwrap(),
            Self::HardLink { path, of } => {
                let of = fixture.path(of);
                let is_file = fs::symlink_metadata(&of).is_ok_and(|it| it.is_file());
                // Removing what is in the way could remove the file itself.
                if is_file
                    && !of.starts_with(fixture.path(path))
                    && !fixture.path(path).starts_with(&of)
                {
                    let path = make_way(fixture, path);
                    if of.exists() {
                        fs::hard_link(of, path).unwrap();
                    }
                }
            }
            Self::Folder { path, mode } => {
                let path = make_way(fixture, path);
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
            }
            Self::Pipe { path } => make_pipe(&make_way(fixture, path)),
            Self::Nested { path } => {
                let git_dir = make_way(fixture, path).join(".git");
                fs::create_dir_all(git_dir.join("objects")).unwrap();
                fs::create_dir_all(git_dir.join("refs")).unwrap();
                fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            }
            Self::Ignore { folder, rules } => {
                let path = make_way(fixture, &folder.join(".gitignore"));
                fs::write(path, rules.join("\n")).unwrap();
            }
            Self::Remove { path } => remove(&fixture.path(path)),
        }
    }
}

/// Removes what is at the path and creates its ancestors, replacing files and links there.
fn make_way(fixture: &WorkspaceFixture, path: &Path) -> PathBuf {
    let mut at = fixture.dir();
    let mut names: Vec<_> = path.iter().collect();
    let last = names.pop().unwrap();
    for name in names {
        at.push(name);
        let is_folder = fs::symlink_metadata(&at).is_ok_and(|it| it.is_dir());
        if !is_folder {
            remove(&at);
            fs::create_dir(&at).unwrap();
        }
        fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
    }
    at.push(last);
    remove(&at);
    at
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(it) if it.is_dir() => {
            open_all(path);
            fs::remove_dir_all(path).unwrap();
        }
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes all folders writable.
pub(super) fn open_all(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            open_all(&entry.path());
        }
    }
}
