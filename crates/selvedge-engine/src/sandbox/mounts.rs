//! What of this machine is in a container, and where: a plan's places, each at its own path, and what
//! our own part in it needs. What is not named is not there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::bubblewrap::{TEMPORARY, name_of_temporary};
use super::container::{SOCKET, Wanted};
use super::plan::{Access, Plan, nearest};
use super::portable::Portable;

/// One place in a container.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    place: PathBuf,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    /// An empty folder in memory.
    Empty,
    Shown(PathBuf),
    Written(PathBuf),
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
            What::Shown(source) => ("type=bind", Some(source), ",readonly"),
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

/// Every place, each once and after those above it: a mount covers whatever was mounted below its place
/// before.
pub(super) fn mounts(plan: &Plan, wanted: &Wanted<'_>, portable: &Portable) -> Vec<Mount> {
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
    let mut places = plan.places();
    places.retain(|path, _| plan.source_of(path).exists());
    for (path, access) in &places {
        let what = match access {
            Access::Read => What::Shown(plan.source_of(path)),
            Access::Write => What::Written(plan.source_of(path)),
            // What lies in nothing that is shown is not there at all, and needs no mask.
            Access::Hidden if !is_below_shown(&places, path) => continue,
            Access::Hidden if path.is_dir() => What::Empty,
            Access::Hidden => What::Shown("/dev/null".into()),
        };
        mounts.push(Mount::new(path, what));
    }
    // Of two at one place the later one counts.
    mounts.sort_by(|one, other| one.place.cmp(&other.place));
    mounts.reverse();
    mounts.dedup_by(|one, kept| one.place == kept.place);
    mounts.reverse();
    mounts
}

fn is_below_shown(places: &BTreeMap<PathBuf, Access>, path: &Path) -> bool {
    let above = path.parent();
    above.is_some_and(|above| nearest(places, above).is_some_and(|it| it != Access::Hidden))
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
            moved: Vec::new(),
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
