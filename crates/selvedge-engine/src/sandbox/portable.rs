//! Runs this program with a foreign root directory: its own file, the loader and the libraries that it uses here. An
//! image may have other versions, or none, so these are mounted beside the image's own.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PROGRAM: &str = "/.selvedge/selvedge";
const LOADER: &str = "/.selvedge/loader";
const LIBRARIES: &str = "/.selvedge/lib";

/// The path of this program, even after its file was replaced: if an upgrade has put another file there, the running
/// program is copied to `folder`.
pub(crate) fn this_program(folder: &Path) -> io::Result<PathBuf> {
    const RUNNING: &str = "/proc/self/exe";
    let running = fs::metadata(RUNNING)?;
    let named = std::env::current_exe()?;
    let is_same =
        |found: fs::Metadata| (found.dev(), found.ino()) == (running.dev(), running.ino());
    if fs::metadata(&named).is_ok_and(is_same) {
        return Ok(named);
    }
    let copy = folder.join("selvedge");
    fs::copy(RUNNING, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700))?;
    Ok(copy)
}

/// Files that the program needs, each with its path in the image.
#[derive(Debug)]
pub(super) struct PortableProgram {
    pub(super) files: Vec<(PathBuf, PathBuf)>,
    has_loader: bool,
}

impl PortableProgram {
    /// For this process, whose program file is `program`.
    pub(super) fn for_this_process(program: &Path) -> io::Result<Self> {
        Ok(Self::from_maps(
            program,
            &fs::read_to_string("/proc/self/maps")?,
        ))
    }

    fn from_maps(program: &Path, maps: &str) -> Self {
        let mut mapped: Vec<&Path> = maps
            .lines()
            .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
            .filter(|path| file_name(path).contains(".so"))
            .collect();
        mapped.sort();
        mapped.dedup();
        let is_loader = |path: &Path| file_name(path).starts_with("ld-");
        let has_loader = mapped.iter().any(|path| is_loader(path));
        let place = |path: &Path| {
            if is_loader(path) {
                PathBuf::from(LOADER)
            } else {
                Path::new(LIBRARIES).join(file_name(path))
            }
        };
        let libraries = mapped
            .into_iter()
            .map(|path| (path.to_owned(), place(path)));
        let own = (program.to_owned(), PathBuf::from(PROGRAM));
        Self {
            files: std::iter::once(own).chain(libraries).collect(),
            has_loader,
        }
    }

    /// The command line that runs the program in the image, without its arguments.
    pub(super) fn command(&self) -> Vec<&'static str> {
        if self.has_loader {
            vec![LOADER, "--library-path", LIBRARIES, PROGRAM]
        } else {
            vec![PROGRAM]
        }
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_program_has_its_libraries() {
        let maps = "\
55e0-55e1 r--p 00000000 08:01 11  /opt/selvedge
7f00-7f01 r--p 00000000 08:01 12  /usr/lib/libc.so.6
7f01-7f02 r-xp 00001000 08:01 12  /usr/lib/libc.so.6
7f02-7f03 r--p 00000000 08:01 13  /usr/lib/ld-linux-x86-64.so.2
7ffe-7fff r-xp 00000000 00:00 0   [vdso]
";
        let portable = PortableProgram::from_maps(Path::new("/opt/selvedge"), maps);
        let files = portable
            .files
            .iter()
            .map(|(from, to)| (from.to_str().unwrap(), to.to_str().unwrap()));
        assert_eq!(
            files.collect::<Vec<_>>(),
            [
                ("/opt/selvedge", "/.selvedge/selvedge"),
                ("/usr/lib/ld-linux-x86-64.so.2", "/.selvedge/loader"),
                ("/usr/lib/libc.so.6", "/.selvedge/lib/libc.so.6"),
            ]
        );
        assert_eq!(portable.command()[0], "/.selvedge/loader");
        let whole = PortableProgram::from_maps(Path::new("/opt/selvedge"), "");
        assert_eq!(whole.command(), ["/.selvedge/selvedge"]);
    }
}
