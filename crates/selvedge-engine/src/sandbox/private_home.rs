//! A home whose top is a folder of the session: what a command creates there is writable, private, and removed with the
//! session. The existing entries are mounted into it one by one, with the access that each would have anyway.

use std::fs;
use std::path::PathBuf;

use super::plan::Symlink;

/// Homes with more entries are shown whole: each mount takes time.
const MAX_ENTRIES: usize = 256;

/// The entries to show in a hidden home.
#[derive(Debug)]
pub(super) struct PrivateHome {
    /// Canonical path.
    pub(super) path: PathBuf,
    /// Files and folders.
    pub(super) entries: Vec<PathBuf>,
    pub(super) symlinks: Vec<Symlink>,
}

impl PrivateHome {
    /// Lists the entries of a home; `None` if they cannot be listed or are too many.
    pub(super) fn of(home: PathBuf) -> Option<Self> {
        let mut entries = Vec::new();
        let mut symlinks = Vec::new();
        let listed = fs::read_dir(&home).ok()?.take(MAX_ENTRIES + 1);
        let listed: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        if listed.len() > MAX_ENTRIES {
            return None;
        }
        for path in listed {
            if let Ok(target) = fs::read_link(&path) {
                symlinks.push(Symlink {
                    target: target.as_os_str().into(),
                    path: path.as_os_str().into(),
                });
            } else if fs::metadata(&path).is_ok() {
                // The mount of a file system that has no access for this user could not be mounted again.
                entries.push(path);
            }
        }
        Some(Self {
            path: home,
            entries,
            symlinks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_with_too_many_entries_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_owned();
        for number in 0..MAX_ENTRIES {
            fs::write(path.join(number.to_string()), "").unwrap();
        }
        let listed = PrivateHome::of(path.clone()).map(|home| home.entries.len());
        assert_eq!(listed, Some(MAX_ENTRIES));
        fs::create_dir(path.join("one more")).unwrap();
        assert!(PrivateHome::of(path).is_none());
    }
}
