//! Copies ignored files of a workspace, such as `.env`, into a clone of it.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::GitignoreBuilder;

use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::exclusions::is_cache;
use super::{Workspace, is_repository_data};

impl Workspace {
    /// Copies the ignored plain files that match one of the patterns, written as in `.gitignore`, to the same paths
    /// below `to`. Existing files are kept, links are not followed, and caches are skipped. Returns the copied paths,
    /// relative to both folders.
    ///
    /// # Errors
    /// Git cannot list the files, or one cannot be read or written.
    pub fn copy_ignored(
        &self,
        to: &Path,
        patterns: &[String],
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut builder = GitignoreBuilder::new(&self.dir);
        for pattern in patterns {
            // As in git, an invalid pattern matches nothing.
            let _ = builder.add_line(None, pattern);
        }
        let Ok(wanted) = builder.build() else {
            return Ok(Vec::new());
        };
        let unignored: HashSet<PathBuf> = self.unignored()?.into_iter().collect();
        let walk = WalkBuilder::new(&self.dir)
            .standard_filters(false)
            .filter_entry(|entry| {
                let name = entry.file_name();
                entry.depth() == 0 || !(is_repository_data(name) || is_cache(name))
            })
            .build();
        let to_error = |path: &Path, error| WorkspaceError::io("copy", path, error);
        let source = DirHandle::open_root(&self.dir).map_err(|error| to_error(&self.dir, error))?;
        let target = DirHandle::open_root(to).map_err(|error| to_error(to, error))?;
        let mut copied = Vec::new();
        for entry in walk.flatten() {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let Ok(path) = entry.path().strip_prefix(&self.dir) else {
                continue;
            };
            let is_wanted = || wanted.matched_path_or_any_parents(path, false).is_ignore();
            if !is_file || unignored.contains(path) || !is_wanted() || target.open(path).is_ok() {
                continue;
            }
            copy(&source, &target, path).map_err(|error| to_error(entry.path(), error))?;
            copied.push(path.to_owned());
        }
        copied.sort();
        Ok(copied)
    }
}

fn copy(source: &DirHandle, target: &DirHandle, path: &Path) -> io::Result<()> {
    let mut file: File = source.open(path)?;
    let permissions = file.metadata()?.permissions().mode() & 0o777;
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        target.make_folder(folder)?;
    }
    target.write(path, permissions, |copy| {
        io::copy(&mut file, copy).map(drop)
    })
}
