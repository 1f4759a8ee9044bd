//! What of this machine is in a container, and where: a plan's places, each at its own path, and what
//! our own part in it needs. What is not named is not there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::bubblewrap::{TEMPORARY, name_of_temporary};
use super::container::{SOCKET, Wanted};
use super::plan::{Plan, paths};
use super::portable::Portable;

/// One place in a container.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mount {
    place: PathBuf,
    what: What,
}

/// Of two at one place the later one counts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// An empty folder in memory.
    Empty,
    Shown(PathBuf),
    Written(PathBuf),
    Pinned(PathBuf),
}

impl Mount {
    fn new(place: impl Into<PathBuf>, what: What) -> Self {
        Self {
            place: place.into(),
            what,
        }
    }

    /// As the engine's `--mount` has it.
    pub(super) fn word(&self, for_podman: bool) -> Result<OsString, String> {
        let (kind, source, end) = match &self.what {
            // Podman would fill it with what it is to hide.
            What::Empty if for_podman => ("type=tmpfs", None, ",tmpfs-mode=1777,notmpcopyup"),
            What::Empty => ("type=tmpfs", None, ",tmpfs-mode=1777"),
            What::Written(source) => ("type=bind", Some(source), ""),
            What::Shown(source) | What::Pinned(source) => ("type=bind", Some(source), ",readonly"),
        };
        let mut word = OsString::from(kind);
        let source = source.map(|source| (",source=", source));
        for (key, path) in source.into_iter().chain([(",destination=", &self.place)]) {
            let bytes = path.as_os_str().as_encoded_bytes();
            if bytes.iter().any(|byte| b",\"\n".contains(byte)) {
                let path = path.display();
                return Err(format!("a container cannot be given {path}, for its name"));
            }
            word.push(key);
            word.push(path);
        }
        word.push(end);
        Ok(word)
    }
}

/// Every place, each once, those that lie deeper after those above them.
pub(super) fn mounts(plan: &Plan, wanted: &Wanted<'_>, portable: &Portable) -> Vec<Mount> {
    let there = |listed: &[_]| paths(listed).into_iter().filter(|path| path.exists());
    let home = wanted.home.filter(|home| home.parent().is_some());
    let empty = [Some(Path::new("/run")), home].into_iter().flatten();
    let mut mounts: Vec<Mount> = empty.map(|path| Mount::new(path, What::Empty)).collect();
    for place in TEMPORARY.map(Path::new) {
        let own = wanted.temporary.join(name_of_temporary(place));
        mounts.push(Mount::new(place, What::Written(own)));
    }
    for (file, place) in &portable.files {
        mounts.push(Mount::new(place, What::Shown(file.clone())));
    }
    mounts.push(Mount::new(SOCKET, What::Written(wanted.socket.to_owned())));
    let shown: Vec<PathBuf> = there(&plan.shown).collect();
    let written: Vec<PathBuf> = there(&plan.writable).collect();
    // What lies in none of these is not there at all, and needs no mask.
    let is_in_one = |path: &PathBuf| {
        let mut open = shown.iter().chain(&written);
        open.any(|open| path != open && path.starts_with(open))
    };
    for path in there(&plan.masked).filter(is_in_one) {
        let what = if path.is_dir() {
            What::Empty
        } else {
            What::Shown("/dev/null".into())
        };
        mounts.push(Mount::new(path, what));
    }
    for path in there(&plan.pinned).filter(is_in_one) {
        mounts.push(Mount::new(path.clone(), What::Pinned(path)));
    }
    let same = |path: &PathBuf, what: fn(PathBuf) -> What| Mount::new(path, what(path.clone()));
    mounts.extend(shown.iter().map(|path| same(path, What::Shown)));
    mounts.extend(written.iter().map(|path| same(path, What::Written)));
    mounts.sort();
    mounts.reverse();
    mounts.dedup_by(|one, kept| one.place == kept.place);
    mounts.reverse();
    mounts
}

#[cfg(test)]
pub(super) mod tests {
    use selvedge_core::model::Backend;

    use super::*;
    use crate::sandbox::plan::bytes;

    pub(crate) fn plan(root: &Path) -> Plan {
        Plan {
            backend: Backend::Podman,
            writable: bytes([root.join("work")]),
            shown: bytes([root.join("tools")]),
            pinned: bytes([root.join("work/.git/hooks"), root.join("elsewhere")]),
            masked: bytes([
                root.join("work/.env"),
                root.join("home/.ssh"),
                root.join("home"),
            ]),
            kept: Vec::new(),
            network: false,
            strict: false,
            contained: None,
        }
    }

    pub(crate) fn stage() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work/.git/hooks", "tools", "home/.ssh", "elsewhere"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("work/.env"), "").unwrap();
        root
    }

    /// A place that is nowhere in it is not named, not even to be masked.
    #[test]
    fn a_container_is_given_what_is_named_and_masks_within_that() {
        let stage = stage();
        let root = stage.path();
        let home = root.join("home");
        let wanted = Wanted {
            name: "x",
            label: OsString::new(),
            temporary: &root.join("tmp"),
            socket: &root.join("socket"),
            face: Path::new("/opt/selvedge"),
            home: Some(&home),
        };
        let portable = Portable::of_this_process(Path::new("/opt/selvedge")).unwrap();
        let words = mounts(&plan(root), &wanted, &portable);
        let words = words
            .iter()
            .map(|mount| mount.word(false).unwrap().into_string().unwrap());
        let own = root.display().to_string();
        let words = words
            .filter(|word| word.contains(&own))
            .map(|word| word.replace(&own, "R"));
        // Which of the two comes first is decided by where the temporary folder lies.
        let (own, ours): (Vec<_>, Vec<_>) = words.partition(|word| word.contains("destination=R"));
        assert_eq!(
            own,
            [
                "type=tmpfs,destination=R/home,tmpfs-mode=1777",
                "type=bind,source=R/tools,destination=R/tools,readonly",
                "type=bind,source=R/work,destination=R/work",
                "type=bind,source=/dev/null,destination=R/work/.env,readonly",
                "type=bind,source=R/work/.git/hooks,destination=R/work/.git/hooks,readonly",
            ]
        );
        assert_eq!(
            ours,
            [
                "type=bind,source=R/socket,destination=/.selvedge/control",
                "type=bind,source=R/tmp/tmp,destination=/tmp",
                "type=bind,source=R/tmp/var-tmp,destination=/var/tmp",
            ]
        );
        let odd = Mount::new(root.join("a,b"), What::Empty);
        assert!(
            odd.word(true).is_err(),
            "a comma would begin another option"
        );
    }
}
