//! Paths that stay inside the workspace, whatever they say and wherever links lead.

use std::path::{Component, Path, PathBuf};

use super::{CheckContext, CheckOutcome};

/// A path that does not stay inside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` leads outside the workspace", .0.display())]
pub struct OutsideWorkspaceError(PathBuf);

/// The place that a relative path names inside a workspace. What exists of it is resolved, so that a
/// link out of the workspace is outside; what does not exist must be outside by no `..`.
pub fn resolve_inside(workspace: &Path, relative: &str) -> Result<PathBuf, OutsideWorkspaceError> {
    let named = Path::new(relative);
    let outside = || OutsideWorkspaceError(named.to_owned());
    let harmless = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !named.components().all(harmless) {
        return Err(outside());
    }
    let joined = workspace.join(named);
    match joined.canonicalize() {
        Ok(real) if real.starts_with(workspace) => Ok(real),
        Ok(_) => Err(outside()),
        // Missing, or a link to nothing: the nearest folder that exists must be inside.
        Err(_) => {
            let existing = joined
                .ancestors()
                .skip(1)
                .find_map(|it| it.canonicalize().ok());
            let within = existing.is_some_and(|real| real.starts_with(workspace));
            if within { Ok(joined) } else { Err(outside()) }
        }
    }
}

/// A directory by its path inside of the sandbox (`seen`) and outside (`files`).
#[derive(Debug, Clone)]
pub(super) struct CheckDirectory {
    pub(super) sandbox_path: PathBuf,
    pub(super) host_path: PathBuf,
}

/// The directory that a check runs in. One that is missing is part of the work, which may create it.
pub(super) fn check_directory(
    relative: &str,
    scene: &CheckContext,
) -> Result<CheckDirectory, Box<CheckOutcome>> {
    let files = resolve_inside(&scene.files_root, relative)
        .map_err(|outside| Box::new(CheckOutcome::error(outside.to_string())))?;
    if files.exists() {
        let below = files
            .strip_prefix(&scene.files_root)
            .unwrap_or(Path::new(""));
        let seen = if below.as_os_str().is_empty() {
            scene.workspace.clone()
        } else {
            scene.workspace.join(below)
        };
        return Ok(CheckDirectory {
            sandbox_path: seen,
            host_path: files,
        });
    }
    let reason = format!("its directory `{relative}` does not exist");
    Err(Box::new(CheckOutcome::fail(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_dots_nor_links_lead_out() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let workspace = root.join("w");
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        std::fs::write(root.join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", workspace.join("link")).unwrap();
        std::os::unix::fs::symlink("..", workspace.join("up")).unwrap();
        for out in [
            "../secret",
            "/etc/passwd",
            "link",
            "up/secret",
            "up/nothing",
            "sub/../../x",
        ] {
            assert!(resolve_inside(&workspace, out).is_err(), "{out}");
        }
        for within in ["sub", "sub/new", "./sub", "new/deep/file"] {
            assert!(resolve_inside(&workspace, within).is_ok(), "{within}");
        }
    }
}
