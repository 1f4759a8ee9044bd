//! Mounts of a container: a plan's paths, each at its own path, and the files that our init process needs. Other paths
//! do not exist in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::bubblewrap::{TEMPORARY_FOLDERS, temporary_folder_name};
use super::container::{ContainerError, ContainerRequest, SOCKET_PATH};
use super::plan::{PathAccess, SandboxPlan, nearest_access};
use super::portable::PortableProgram;

/// One mount of a container.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContainerMount {
    destination: PathBuf,
    source: MountSource,
}

#[derive(Debug, PartialEq, Eq)]
enum MountSource {
    /// An empty folder in memory.
    Empty,
    ReadOnly(PathBuf),
    Writable(PathBuf),
}

impl ContainerMount {
    fn new(place: impl Into<PathBuf>, what: MountSource) -> Self {
        Self {
            destination: place.into(),
            source: what,
        }
    }

    /// As an argument of the engine's `--mount`.
    pub(super) fn to_argument(&self, for_podman: bool) -> Result<OsString, ContainerError> {
        let (kind, source, end) = match &self.source {
            // Podman would fill it with the content that it must hide.
            MountSource::Empty if for_podman => {
                ("type=tmpfs", None, ",tmpfs-mode=1777,notmpcopyup")
            }
            MountSource::Empty => ("type=tmpfs", None, ",tmpfs-mode=1777"),
            MountSource::Writable(source) => ("type=bind", Some(source), ""),
            MountSource::ReadOnly(source) => ("type=bind", Some(source), ",readonly"),
        };
        let mut word = OsString::from(kind);
        let source = source.map(|source| (",source=", source));
        for (key, path) in source
            .into_iter()
            .chain([(",destination=", &self.destination)])
        {
            let bytes = path.as_os_str().as_encoded_bytes();
            if bytes.iter().any(|byte| b",\"\n".contains(byte)) {
                return Err(ContainerError::UnmountablePath(path.clone()));
            }
            word.push(key);
            word.push(path);
        }
        word.push(end);
        Ok(word)
    }
}

/// All mounts, each once and after those above it: a mount covers earlier mounts below its path.
pub(super) fn container_mounts(
    plan: &SandboxPlan,
    wanted: &ContainerRequest<'_>,
    portable: &PortableProgram,
) -> Vec<ContainerMount> {
    let home = wanted.home.filter(|home| home.parent().is_some());
    let empty = [Some(Path::new("/run")), home].into_iter().flatten();
    let mut mounts: Vec<ContainerMount> = empty
        .map(|path| ContainerMount::new(path, MountSource::Empty))
        .collect();
    for place in TEMPORARY_FOLDERS.map(Path::new) {
        let own = wanted.temporary.join(temporary_folder_name(place));
        mounts.push(ContainerMount::new(place, MountSource::Writable(own)));
    }
    for (file, place) in &portable.files {
        mounts.push(ContainerMount::new(
            place,
            MountSource::ReadOnly(file.clone()),
        ));
    }
    mounts.push(ContainerMount::new(
        SOCKET_PATH,
        MountSource::Writable(wanted.socket.to_owned()),
    ));
    let mut places = plan.access_by_path();
    places.retain(|path, _| plan.mount_source(path).exists());
    for (path, access) in &places {
        let what = match access {
            PathAccess::Read => MountSource::ReadOnly(plan.mount_source(path)),
            PathAccess::Write => MountSource::Writable(plan.mount_source(path)),
            // A path below no mount does not exist in the container, and needs no mask.
            PathAccess::Hidden if !is_below_shown(&places, path) => continue,
            PathAccess::Hidden if path.is_dir() => MountSource::Empty,
            PathAccess::Hidden => MountSource::ReadOnly("/dev/null".into()),
        };
        mounts.push(ContainerMount::new(path, what));
    }
    // If two have the same path, the later one counts.
    mounts.sort_by(|one, other| one.destination.cmp(&other.destination));
    mounts.reverse();
    mounts.dedup_by(|one, kept| one.destination == kept.destination);
    mounts.reverse();
    mounts
}

fn is_below_shown(places: &BTreeMap<PathBuf, PathAccess>, path: &Path) -> bool {
    let above = path.parent();
    above.is_some_and(|above| {
        nearest_access(places, above).is_some_and(|it| it != PathAccess::Hidden)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use selvedge_core::model::SandboxBackend;

    use super::*;
    use crate::sandbox::plan::system_strings;

    pub(crate) fn plan(root: &Path) -> SandboxPlan {
        SandboxPlan {
            backend: SandboxBackend::Podman,
            writable: system_strings([root.join("work")]),
            readable: system_strings([root.join("tools")]),
            pinned: system_strings([root.join("work/.git/hooks"), root.join("elsewhere")]),
            masked: system_strings([
                root.join("work/.env"),
                root.join("home/.ssh"),
                root.join("home"),
            ]),
            granted: Vec::new(),
            missing: Vec::new(),
            placeholder_records: root.join("records").as_os_str().into(),
            protected: Vec::new(),
            network: false,
            strict: false,
            container: None,
            relocated: Vec::new(),
            symlinks: Vec::new(),
        }
    }

    pub(crate) fn root_folder() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work/.git/hooks", "tools", "home/.ssh", "elsewhere"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("work/.env"), "").unwrap();
        root
    }

    /// A path that does not exist in the container is not passed to the engine, not even to be masked.
    #[test]
    fn container_mounts_include_masks() {
        let root_folder = root_folder();
        let root = root_folder.path();
        let home = root.join("home");
        let wanted = ContainerRequest {
            name: "x",
            label: OsString::new(),
            temporary: &root.join("tmp"),
            socket: &root.join("socket"),
            init_program: Path::new("/opt/selvedge"),
            home: Some(&home),
        };
        let portable = PortableProgram::for_this_process(Path::new("/opt/selvedge")).unwrap();
        let words = container_mounts(&plan(root), &wanted, &portable);
        let words = words
            .iter()
            .map(|mount| mount.to_argument(false).unwrap().into_string().unwrap());
        let own = root.display().to_string();
        let words = words
            .filter(|word| word.contains(&own))
            .map(|word| word.replace(&own, "R"));
        // Which of the two comes first depends on the path of the temporary folder.
        let (own, ours): (Vec<_>, Vec<_>) = words.partition(|word| word.contains("destination=R"));
        assert_eq!(
            own,
            [
                "type=tmpfs,destination=R/home,tmpfs-mode=1777",
                "type=bind,source=R/tools,destination=R/tools,readonly",
                "type=bind,source=R/work,destination=R/work",
                "type=bind,source=/dev/null,destination=R/work/.env,readonly",
                "type=bind,source=R/work/.git,destination=R/work/.git",
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
        let odd = ContainerMount::new(root.join("a,b"), MountSource::Empty);
        assert!(
            odd.to_argument(true).is_err(),
            "a comma would begin another option"
        );
    }
}
