//! Removes trees whose permissions were changed by others.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, a link, or a folder with its content, even if folders in it are read-only. A missing path is not an
/// error.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(data) if !data.is_dir() => fs::remove_file(path),
        Ok(_) => match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                make_folders_writable(path);
                fs::remove_dir_all(path)
            }
            done => done,
        },
    }
}

fn make_folders_writable(path: &Path) {
    // The removal reports what could not be changed.
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_folders_writable(&entry.path());
        }
    }
}
