//! Git's name of a tree of files, computed from the files alone: everyone with the same files gets the same name, with
//! or without Selvedge, and it is also the tree of a commit of them. In both of git's object formats, because SHA-1
//! collisions can be made.

use std::collections::BTreeMap;

use selvedge_core::format::hex;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The ids of a tree or a file in git's two object formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GitObjectIds {
    sha1: [u8; 20],
    sha256: [u8; 32],
}

/// The digests of an in-toto subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TreeDigest {
    /// The name that `git write-tree` prints.
    pub(crate) git_tree: String,
    /// The same in git's SHA-256 object format.
    pub(crate) git_tree_sha256: String,
}

impl From<GitObjectIds> for TreeDigest {
    fn from(ids: GitObjectIds) -> Self {
        Self {
            git_tree: hex(&ids.sha1),
            git_tree_sha256: hex(&ids.sha256),
        }
    }
}

/// Metadata that git records about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitFileKind {
    File,
    Executable,
    Link,
}

impl GitFileKind {
    fn mode(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// Computes the ids of an object from its bytes.
pub(super) struct GitObjectHasher {
    sha1: Sha1,
    sha256: Sha256,
}

impl GitObjectHasher {
    /// Starts a blob of `length` bytes.
    pub(super) fn blob(length: u64) -> Self {
        Self::with_header("blob", length)
    }

    fn with_header(kind: &str, length: u64) -> Self {
        let head = format!("{kind} {length}\0");
        Self {
            sha1: Sha1::new_with_prefix(&head),
            sha256: Sha256::new_with_prefix(&head),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.sha1.update(bytes);
        self.sha256.update(bytes);
    }

    pub(super) fn ids(self) -> GitObjectIds {
        GitObjectIds {
            sha1: self.sha1.finalize().into(),
            sha256: self.sha256.finalize().into(),
        }
    }
}

/// A folder with everything in it.
#[derive(Debug, Default)]
pub(super) struct GitFolder {
    files: BTreeMap<Vec<u8>, (GitFileKind, GitObjectIds)>,
    folders: BTreeMap<Vec<u8>, GitFolder>,
}

impl GitFolder {
    /// Inserts a file at its path, with `/` as the separator.
    pub(super) fn insert(&mut self, path: &[u8], kind: GitFileKind, ids: GitObjectIds) {
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        let mut folder = self;
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                folder.files.insert(part.to_vec(), (kind, ids));
                return;
            }
            folder = folder.folders.entry(part.to_vec()).or_default();
        }
    }

    /// The ids of the folder. Git sorts a folder as if its name ended with a slash, and has no empty folders.
    pub(super) fn ids(&self) -> GitObjectIds {
        let mut entries = BTreeMap::new();
        for (name, (kind, ids)) in &self.files {
            entries.insert(name.clone(), (kind.mode(), name, *ids));
        }
        for (name, folder) in &self.folders {
            let sorted_as = [name, &b"/"[..]].concat();
            entries.insert(sorted_as, ("40000", name, folder.ids()));
        }
        let (mut sha1, mut sha256) = (Vec::new(), Vec::new());
        for (mode, name, ids) in entries.values() {
            for (list, id) in [(&mut sha1, &ids.sha1[..]), (&mut sha256, &ids.sha256[..])] {
                list.extend_from_slice(mode.as_bytes());
                list.push(b' ');
                list.extend_from_slice(name);
                list.push(0);
                list.extend_from_slice(id);
            }
        }
        GitObjectIds {
            sha1: tree_object_id::<Sha1>(&sha1).into(),
            sha256: tree_object_id::<Sha256>(&sha256).into(),
        }
    }
}

fn tree_object_id<D: Digest>(list: &[u8]) -> sha2::digest::Output<D> {
    let head = format!("tree {}\0", list.len());
    D::new_with_prefix(head).chain_update(list).finalize()
}
