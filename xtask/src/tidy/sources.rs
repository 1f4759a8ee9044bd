//! The files of the repository: all that git would track, determined without git.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::XtaskResult;
use crate::workspace;

/// A text file of the repository.
#[derive(Debug)]
pub(crate) struct RepositoryFile {
    /// Path from the root, with `/` as separator.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl RepositoryFile {
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension() == Some(OsStr::new("rs"))
    }
}

/// Reads all text files that are not ignored, ordered by path.
pub(crate) fn read_all() -> XtaskResult<Vec<RepositoryFile>> {
    let root = workspace::root();
    let walk = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .git_ignore(true)
        .require_git(false)
        .parents(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_path(Path::cmp)
        .build();
    let mut sources = Vec::new();
    for entry in walk {
        let entry = entry?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path: PathBuf = entry.path().strip_prefix(root)?.to_owned();
        if let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) {
            sources.push(RepositoryFile {
                path: path.to_string_lossy().into_owned(),
                text,
            });
        }
    }
    Ok(sources)
}
