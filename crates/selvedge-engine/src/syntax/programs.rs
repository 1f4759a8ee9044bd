//! Finds the programs of this machine that parse a language. They are looked up in `PATH`, but
//! never inside the workspace, and never as a shim that chooses a version by its working directory.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::process::find_program;

/// Minor versions of Python, searched from the newest: an older one does not know new syntax.
const PYTHONS: std::ops::RangeInclusive<u32> = 8..=24;

/// The programs that were found.
#[derive(Debug, Clone, Default)]
pub struct ParserPrograms {
    pub(super) python: Option<PathBuf>,
    pub(super) gofmt: Option<PathBuf>,
    pub(super) bash: Option<PathBuf>,
    pub(super) ruby: Option<PathBuf>,
    pub(super) php: Option<PathBuf>,
    pub(super) javac: Option<PathBuf>,
    pub(super) node: Option<PathBuf>,
    pub(super) rustfmt: Option<PathBuf>,
    pub(super) cc: Option<PathBuf>,
}

impl ParserPrograms {
    /// Finds programs by the `PATH` of our own environment.
    pub fn find_outside(workspace: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_on_path(&path, workspace)
    }

    /// Finds programs by a given `PATH`.
    fn find_on_path(path: &OsStr, workspace: &Path) -> Self {
        let stands_in = |folder: &Path| folder.components().any(|it| it.as_os_str() == "shims");
        let folders: Vec<PathBuf> = std::env::split_paths(path)
            .filter(|folder| folder.is_absolute() && !stands_in(folder))
            .filter(|folder| !folder.components().any(|it| it == Component::ParentDir))
            .filter(|folder| !canonical(folder).starts_with(workspace))
            .collect();
        let path: OsString = std::env::join_paths(folders).unwrap_or_default();
        let find = |program: &str| {
            let found = find_program(program, &path, Path::new("/"))?;
            (!canonical(&found).starts_with(workspace)).then_some(found)
        };
        let newest = PYTHONS
            .rev()
            .find_map(|minor| find(&format!("python3.{minor}")));
        let go_root = || {
            canonical(&find("go")?)
                .parent()
                .map(|folder| folder.join("gofmt"))
        };
        Self {
            python: newest.or_else(|| find("python3")),
            gofmt: find("gofmt").or_else(|| go_root().filter(|file| file.is_file())),
            bash: find("bash"),
            ruby: find("ruby"),
            php: find("php"),
            javac: find("javac"),
            node: find("node"),
            rustfmt: find("rustfmt"),
            cc: find("cc").or_else(|| find("clang")).or_else(|| find("gcc")),
        }
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_programs_exclude_workspace_and_shims() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let executable = |folder: &str, name: &str| {
            use std::os::unix::fs::PermissionsExt;
            let file = root.join(folder).join(name);
            std::fs::create_dir_all(root.join(folder)).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        executable("work/.venv/bin", "python3.20");
        executable("shims", "python3.19");
        executable("usr", "python3.9");
        let newest = executable("opt", "python3.14");
        std::os::unix::fs::symlink(root.join("work/.venv/bin"), root.join("link")).unwrap();
        let folders = ["work/.venv/bin", "link", "shims", "usr", "opt"].map(|it| root.join(it));
        let path =
            std::env::join_paths(folders.iter().map(PathBuf::as_path).chain([Path::new("")]));
        let found = ParserPrograms::find_on_path(&path.unwrap(), &root.join("work"));
        assert_eq!(found.python, Some(newest));
        assert_eq!(found.node, None);
    }
}
