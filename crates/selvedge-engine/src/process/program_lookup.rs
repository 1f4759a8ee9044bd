//! Resolves a program's name to a file before anything is run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Default search path of the C library when `PATH` is not set.
pub(crate) const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The executable file that a program's name refers to when it is started in `cwd` with this
/// `PATH`, as `execvp` finds it; `None` if there is none.
pub fn find_program(program: impl AsRef<OsStr>, path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    candidate_paths(program.as_ref(), path, cwd)
        .into_iter()
        .find(|file| is_executable(file))
}

/// The files that the name may refer to, in search order.
pub(super) fn candidate_paths(program: &OsStr, path: &OsStr, cwd: &Path) -> Vec<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return vec![cwd.join(program)];
    }
    // An empty entry means the directory in which the program is started.
    let directories = std::env::split_paths(path);
    directories
        .map(|directory| cwd.join(directory).join(program))
        .collect()
}

pub(crate) fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}
