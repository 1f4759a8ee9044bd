//! Which file a program's name means, asked before anything is run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The executable file that a program's name means when it is started in `cwd` with this `PATH`, as
/// `execvp` finds it; none when there is none.
pub fn find_program(program: &str, path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|file| is_executable(file));
    }
    // An empty entry means the directory that the program is started in.
    std::env::split_paths(path)
        .map(|directory| cwd.join(directory).join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}
