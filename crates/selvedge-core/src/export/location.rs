//! Where a failure lies, as whoever looks at the repository names it: a path from the repository's
//! root, whatever directory the tool ran in and however it wrote the file down.

use std::fmt::{self, Debug};
use std::path::{Component, Path, PathBuf};

use crate::model::Step;

/// A place in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLocation {
    /// From the repository's root, with `/`.
    pub path: String,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, counted as the tool counts.
    pub column: Option<u32>,
}

/// What it takes to name places.
pub struct LocationResolver<'a> {
    /// The repository's root; the workspace itself where there is no repository.
    pub repository: &'a Path,
    /// The directory that the checks ran in, at or below the repository's root.
    pub workspace: &'a Path,
    /// Whether there is such a file: asked of absolute paths below the repository's root only.
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

/// Where a person looks for what was to hold.
const SETTINGS_FILE: &str = "selvedge.toml";

impl LocationResolver<'_> {
    /// A file as a tool wrote it, from the repository's root; nothing where it lies outside. `step`
    /// is the check whose tool it was. A file that is not there is told from the directory that the
    /// check ran in. What lies in `own`, the directory of the run, is told as of the workspace.
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
        // Joining an absolute path gives that path.
        let bases = [ran_in.as_path(), self.workspace, self.repository];
        let inside = bases.map(|base| self.relative_to_repository(&base.join(file)));
        let known = inside.iter().flatten().find(|path| {
            let absolute = self.repository.join(path);
            (self.exists)(&absolute)
        });
        let chosen = known.or_else(|| inside.iter().flatten().next())?;
        Some(chosen.to_string_lossy().into_owned())
    }

    /// Where to point for what lies in no file: the settings, if there are any, or the root.
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

    /// An absolute path from the repository's root, if it is a file below it by its words alone.
    fn relative_to_repository(&self, path: &Path) -> Option<PathBuf> {
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir if !plain.pop() => return None,
                Component::ParentDir | Component::CurDir => {}
                other => plain.push(other),
            }
        }
        let below = plain.strip_prefix(self.repository).ok()?.to_owned();
        (!below.as_os_str().is_empty()).then_some(below)
    }
}
