//! The names in a git directory, read as data: branches, tags, `HEAD`, stash entries, the index, and operations in
//! progress. An agent may have written the directory, so no link in it is followed and git does not read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::copy::read_names;

/// Maximum size of a file of names.
const MAX_NAMES_LENGTH: u64 = 256 << 20;
/// Maximum depth of the folders of a ref's name.
const MAX_REF_DEPTH: usize = 20;

/// Files and folders that exist while an operation of git is in progress.
pub(super) const OPERATIONS: [&str; 10] = [
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// Further files of the main work tree in a git directory that other work trees share.
pub(super) const WORK_TREE_RECORDS: [&str; 8] = [
    "BISECT_EXPECTED_REV",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "logs",
];

/// The names of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RepositoryState {
    /// Object ids by full ref names.
    pub(super) refs: BTreeMap<String, String>,
    /// Oldest first.
    pub(super) stash: Vec<StashEntry>,
    /// States of work trees, by their git directories, relative to the repository's.
    pub(super) work_trees: BTreeMap<PathBuf, WorkTreeState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StashEntry {
    pub(super) commit: String,
    pub(super) message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WorkTreeState {
    pub(super) head: Option<Head>,
    /// Hash of the index.
    pub(super) index: Option<[u8; 32]>,
    pub(super) operations: BTreeSet<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// A full ref name.
    Branch(String),
    Commit(String),
}

impl RepositoryState {
    /// Reads the state of a git directory with these work trees. Returns `None` if the names are not stored in files
    /// (git's format `reftable`), or there are none.
    pub(super) fn read(git_dir: &Path, work_trees: &BTreeSet<PathBuf>) -> Option<Self> {
        if git_dir.join("reftable").symlink_metadata().is_ok() {
            return None;
        }
        let mut state = Self::default();
        let packed = read_plain(git_dir, Path::new("packed-refs")).unwrap_or_default();
        for line in String::from_utf8_lossy(&packed).lines() {
            if let Some((id, name)) = line.split_once(' ')
                && is_object_id(id)
                && is_ref_name(name)
            {
                state.refs.insert(name.to_owned(), id.to_owned());
            }
        }
        read_loose_refs(git_dir, Path::new("refs"), &mut state.refs);
        let stash = read_plain(git_dir, Path::new("logs/refs/stash")).unwrap_or_default();
        let stash = String::from_utf8_lossy(&stash).into_owned();
        state.stash = stash.lines().filter_map(parse_stash_entry).collect();
        for work_tree in work_trees {
            let read = |name: &str| read_plain(git_dir, &work_tree.join(name));
            let exists = |name: &&str| is_plain(git_dir, &work_tree.join(name));
            let index = read("index").ok();
            state.work_trees.insert(
                work_tree.clone(),
                WorkTreeState {
                    head: read("HEAD").ok().and_then(|bytes| parse_head(&bytes)),
                    index: index.map(|bytes| Sha256::digest(&bytes).into()),
                    operations: OPERATIONS.into_iter().filter(|name| exists(name)).collect(),
                },
            );
        }
        Some(state)
    }
}

fn read_loose_refs(git_dir: &Path, folder: &Path, refs: &mut BTreeMap<String, String>) {
    if folder.iter().count() > MAX_REF_DEPTH || !is_plain(git_dir, folder) {
        return;
    }
    for name in read_names(&git_dir.join(folder)).unwrap_or_default() {
        let path = folder.join(name);
        if git_dir
            .join(&path)
            .symlink_metadata()
            .is_ok_and(|it| it.is_dir())
        {
            read_loose_refs(git_dir, &path, refs);
            continue;
        }
        let id = read_plain(git_dir, &path).unwrap_or_default();
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        if let Some(name) = path.to_str()
            && is_object_id(&id)
            && is_ref_name(name)
        {
            refs.insert(name.to_owned(), id);
        }
    }
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    let line = std::str::from_utf8(bytes).ok()?.trim_end();
    if let Some(name) = line.strip_prefix("ref:") {
        let name = name.trim();
        return (name.starts_with("refs/heads/") && is_ref_name(name))
            .then(|| Head::Branch(name.to_owned()));
    }
    is_object_id(line).then(|| Head::Commit(line.to_owned()))
}

/// Parses a line of a reflog: two ids, the author, a tab, the message.
fn parse_stash_entry(line: &str) -> Option<StashEntry> {
    let (entry, message) = line.split_once('\t')?;
    let commit = entry.split(' ').nth(1)?;
    is_object_id(commit).then(|| StashEntry {
        commit: commit.to_owned(),
        message: message.chars().filter(|c| !c.is_control()).collect(),
    })
}

pub(super) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

/// Whether it can be a ref's name; git decides about the rest of the rules.
fn is_ref_name(name: &str) -> bool {
    name.starts_with("refs/")
        && !name.contains("..")
        && Path::new(name).extension().is_none_or(|end| end != "lock")
        && !name
            .chars()
            .any(|c| c.is_control() || " ~^:?*[\\".contains(c))
}

/// Whether a path exists and no folder above it is a link.
pub(super) fn is_plain(root: &Path, path: &Path) -> bool {
    let mut parents = path.ancestors().skip(1);
    let parents_are_folders = parents.all(|above| {
        above.as_os_str().is_empty()
            || root
                .join(above)
                .symlink_metadata()
                .is_ok_and(|it| it.is_dir())
    });
    let found = root.join(path).symlink_metadata();
    parents_are_folders && found.is_ok_and(|it| it.is_file() || it.is_dir())
}

/// Reads a plain file, without following links.
pub(super) fn read_plain(root: &Path, path: &Path) -> io::Result<Vec<u8>> {
    if !is_plain(root, path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(root.join(path))?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_NAMES_LENGTH).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes from a folder of objects everything that is not an object: links, and the list of other folders.
pub(super) fn remove_foreign_objects(folder: &Path) -> io::Result<()> {
    for name in read_names(folder)? {
        let path = folder.join(&name);
        let found = path.symlink_metadata()?;
        if found.is_dir() && name != "info" {
            remove_foreign_objects(&path)?;
        } else if found.is_dir() {
            super::copy::remove_all(&path)?;
        } else if !found.is_file() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Names come from plain files of the directory, whatever an agent has put there.
    #[test]
    fn repository_state_is_read_without_following_links() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        for folder in ["refs/heads/a", "logs/refs", "refs/tags", "outside"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("HEAD"), "ref: refs/heads/a/b\n").unwrap();
        fs::write(root.join("refs/heads/a/b"), format!("{one}\n")).unwrap();
        fs::write(root.join("refs/heads/bad name"), format!("{one}\n")).unwrap();
        fs::write(root.join("outside/secret"), format!("{other}\n")).unwrap();
        symlink("../../outside/secret", root.join("refs/heads/linked")).unwrap();
        symlink("../outside", root.join("refs/more")).unwrap();
        let packed = format!("# pack-refs\n{one} refs/tags/v1\n^{other}\n{other} refs/heads/a/b\n");
        fs::write(root.join("packed-refs"), packed).unwrap();
        let log = format!(
            "{} {other} A <a@b> 1 +0000\tWIP \u{1b}[1m\n",
            "0".repeat(40)
        );
        fs::write(root.join("logs/refs/stash"), log).unwrap();
        fs::write(root.join("MERGE_HEAD"), "").unwrap();
        let state = RepositoryState::read(root, &BTreeSet::from([PathBuf::new()])).unwrap();
        let refs = [("refs/heads/a/b", &one), ("refs/tags/v1", &one)];
        let refs = refs.map(|(name, id)| (name.to_owned(), id.clone()));
        assert_eq!(state.refs, BTreeMap::from(refs));
        assert_eq!(state.stash[0].message, "WIP [1m");
        let work_tree = &state.work_trees[Path::new("")];
        assert_eq!(
            work_tree.head,
            Some(Head::Branch("refs/heads/a/b".to_owned()))
        );
        assert_eq!(work_tree.operations, BTreeSet::from(["MERGE_HEAD"]));
    }
}
