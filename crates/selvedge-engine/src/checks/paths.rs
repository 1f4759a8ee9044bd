//! Paths that stay inside the workspace, regardless of `..` and links.

use std::path::{Component, Path, PathBuf};

use super::{CheckContext, CheckOutcome};

/// Error for a path that leads outside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is outside the workspace", .0.display())]
pub struct OutsideWorkspaceError(PathBuf);

/// Resolves a relative path inside a workspace. Its existing part is canonicalized, so a link that leads out of the
/// workspace is an error. `..` is never allowed.
pub fn resolve_inside(workspace: &Path, relative: &str) -> Result<PathBuf, OutsideWorkspaceError> {
    let relative_path = Path::new(relative);
    let outside = || OutsideWorkspaceError(relative_path.to_owned());
    let is_allowed = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative_path.components().all(is_allowed) {
        return Err(outside());
    }
    let joined = workspace.join(relative_path);
    match joined.canonicalize() {
        Ok(real) if real.starts_with(workspace) => Ok(real),
        Ok(_) => Err(outside()),
        // Missing or a dangling link: the nearest existing ancestor must be inside.
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

/// A directory, by its path inside and outside of the sandbox.
#[derive(Debug, Clone)]
pub(super) struct CheckDirectory {
    pub(super) sandbox_path: PathBuf,
    pub(super) host_path: PathBuf,
}

/// Returns the directory that a check runs in. If it is missing, the check fails, because the work may create it.
pub(super) fn check_directory(
    relative: &str,
    context: &CheckContext,
) -> Result<CheckDirectory, Box<CheckOutcome>> {
    let host_path = resolve_inside(&context.files_root, relative)
        .map_err(|outside| Box::new(CheckOutcome::error(outside.to_string())))?;
    if host_path.exists() {
        let below = host_path
            .strip_prefix(&context.files_root)
            .unwrap_or(Path::new(""));
        let sandbox_path = if below.as_os_str().is_empty() {
            context.workspace.clone()
        } else {
            context.workspace.join(below)
        };
        return Ok(CheckDirectory {
            sandbox_path,
            host_path,
        });
    }
    let reason = format!("its directory `{relative}` does not exist");
    Err(Box::new(CheckOutcome::fail(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolve_inside_rejects_dots_and_links() {
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
