//! Location of a failure in the repository: a path from the repository's root, whatever directory the tool ran in and
//! however it printed the file.

use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};

use crate::model::Step;
use crate::paths::normalize;

/// A position in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLocation {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Counted from 1.
    pub line: Option<u32>,
    /// Counted from 1, in the tool's unit.
    pub column: Option<u32>,
}

/// The context that is needed to resolve locations.
pub struct LocationResolver<'a> {
    /// The repository's root; the workspace itself without a repository.
    pub repository: &'a Path,
    /// The directory that the checks ran in, at or below the repository's root.
    pub workspace: &'a Path,
    /// Whether a file exists: only called with absolute paths below the repository's root.
    pub exists: &'a dyn Fn(&Path) -> bool,
}

impl Debug for LocationResolver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("repository", &self.repository)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

/// The file in which the checks are configured.
const SETTINGS_FILE: &str = "selvedge.toml";

impl LocationResolver<'_> {
    /// Converts a file as printed by the tool of the check `step` to a path from the repository's root; `None` if it is
    /// outside. A file that does not exist is resolved from the directory that the check ran in. Paths in `own`, the
    /// directory of the run, are mapped to the workspace.
    pub fn repository_path(
        &self,
        file: &str,
        step: Option<&Step>,
        own: Option<&Path>,
    ) -> Option<String> {
        let below = own.and_then(|own| Path::new(file).strip_prefix(own).ok());
        let moved = below.map(|below| self.workspace.join(below));
        let file = moved.as_deref().unwrap_or(Path::new(file));
        let directory = step.and_then(|step| step.directory.as_deref());
        let ran_in = self.workspace.join(directory.unwrap_or_default());
        // Joining an absolute path yields that path.
        let bases = [ran_in.as_path(), self.workspace, self.repository];
        let inside = bases.map(|base| self.relative_to_repository(&base.join(file)));
        let known = inside.iter().flatten().find(|path| {
            let absolute = self.repository.join(path);
            (self.exists)(&absolute)
        });
        let chosen = known.or_else(|| inside.iter().flatten().next())?;
        Some(chosen.to_string_lossy().into_owned())
    }

    /// Location for annotations without a file: the settings file, if it exists, or the root.
    pub fn fallback_location(&self) -> FileLocation {
        let settings = self.relative_to_repository(&self.workspace.join(SETTINGS_FILE));
        let settings = settings.filter(|path| (self.exists)(&self.repository.join(path)));
        let path = settings.map_or_else(
            || ".".to_owned(),
            |path| path.to_string_lossy().into_owned(),
        );
        FileLocation {
            path,
            line: None,
            column: None,
        }
    }

    /// An absolute path relative to the repository's root, if it is lexically below it.
    fn relative_to_repository(&self, path: &Path) -> Option<PathBuf> {
        let normal = normalize(path);
        let below = normal.strip_prefix(self.repository).ok()?.to_owned();
        (!below.as_os_str().is_empty()).then_some(below)
    }
}
