//! Compares plans with the result of each backend: mounts in their order, and Landlock's grants.

use std::ffi::OsString;
use std::fs;

use landlock::AccessFs;
use proptest::prelude::*;

use super::super::container::ContainerRequest;
use super::super::mounts::container_mounts;
use super::super::portable::PortableProgram;
use super::super::{bubblewrap_arguments, landlock::build_grants};
use super::*;

/// Folders of a tree, with a file in each.
const FOLDERS: &[&str] = &[
    "a", "a/a", "a/a/a", "a/a/b", "a/b", "a/b/a", "b", "b/a", "b/a/a", "b/b",
];

fn tree() -> (tempfile::TempDir, Vec<PathBuf>) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let mut paths = Vec::new();
    for folder in FOLDERS {
        let folder = path.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        paths.extend([folder.join("file"), folder]);
    }
    (root, paths)
}

/// The lists of a plan that contain one path; the first have precedence.
#[derive(Debug, Clone, Copy)]
struct PathFlags {
    granted: bool,
    masked: bool,
    /// Mounted read-only, as the programs in an agent's cache are.
    mounted: bool,
    writable: bool,
    shown: bool,
    pinned: bool,
}

fn named() -> impl Strategy<Value = PathFlags> {
    let rarely = || prop::bool::weighted(0.2);
    let precedence = (
        prop::bool::weighted(0.05),
        rarely(),
        prop::bool::weighted(0.1),
    );
    (precedence, rarely(), rarely(), rarely()).prop_map(
        |((granted, masked, mounted), writable, shown, pinned)| PathFlags {
            granted,
            masked,
            mounted,
            writable,
            shown,
            pinned,
        },
    )
}

fn plan(paths: &[PathBuf], named: &[PathFlags]) -> SandboxPlan {
    let those = |wanted: fn(&PathFlags) -> bool| {
        let pairs = paths.iter().zip(named);
        let those = pairs.filter(|(_, it)| wanted(it));
        system_strings(those.map(|(path, _)| path.clone()))
    };
    SandboxPlan {
        backend: SandboxBackend::Bubblewrap,
        writable: those(|it| it.writable),
        readable: those(|it| it.shown),
        pinned: those(|it| it.pinned),
        masked: those(|it| it.masked),
        granted: those(|it| it.granted),
        missing: Vec::new(),
        placeholder_records: Path::new("/").as_os_str().into(),
        protected: Vec::new(),
        network: true,
        strict: true,
        container: None,
        relocated: those(|it| it.mounted)
            .into_iter()
            .map(|path| RelocatedFolder {
                source: path.clone(),
                mount_point: path,
                access: PathAccess::Read,
            })
            .collect(),
        symlinks: Vec::new(),
    }
}

/// Access that a plan intends for a path: the nearest listed path decides, hiding has precedence over everything but a
/// grant, and showing removes no rights.
fn meant(paths: &[PathBuf], named: &[PathFlags], path: &Path) -> Option<PathAccess> {
    let mut is_pinned = false;
    for place in path.ancestors() {
        let index = paths.iter().position(|path| path == place);
        let Some(it) = index.and_then(|index| named.get(index)) else {
            continue;
        };
        if it.granted {
            return Some(PathAccess::Read);
        }
        if it.masked {
            return Some(PathAccess::Hidden);
        }
        is_pinned |= it.pinned;
        if it.mounted {
            return Some(PathAccess::Read);
        }
        if it.writable {
            return Some(if is_pinned {
                PathAccess::Read
            } else {
                PathAccess::Write
            });
        }
        if it.shown {
            let above = place
                .parent()
                .and_then(|above| intended_access_above(paths, named, above));
            if above != Some(PathAccess::Write) {
                return Some(PathAccess::Read);
            }
        }
    }
    None
}

/// The same without pins.
fn intended_access_above(
    paths: &[PathBuf],
    named: &[PathFlags],
    path: &Path,
) -> Option<PathAccess> {
    let unpinned: Vec<PathFlags> = named
        .iter()
        .map(|it| PathFlags {
            pinned: false,
            ..*it
        })
        .collect();
    meant(paths, &unpinned, path)
}

/// Access that mounts give to a path: the last mount that covers it decides.
fn shown_by(mounts: &[(PathBuf, PathAccess)], path: &Path) -> Option<PathAccess> {
    let covering = mounts
        .iter()
        .rev()
        .find(|(place, _)| path.starts_with(place));
    covering.map(|(_, access)| *access)
}

/// The mounts among the arguments of `bwrap`.
fn of_bubblewrap(arguments: &[OsString]) -> Vec<(PathBuf, PathAccess)> {
    let mut words = arguments.iter().map(PathBuf::from);
    let mut mounts = Vec::new();
    while let Some(option) = words.next() {
        let option = option.to_string_lossy().into_owned();
        if ["--tmpfs", "--dev", "--proc"].contains(&option.as_str()) {
            mounts.push((words.next().unwrap(), PathAccess::Hidden));
        } else if option.contains("bind") {
            let (source, place) = (words.next().unwrap(), words.next().unwrap());
            let access = match option.as_str() {
                _ if source != place => PathAccess::Hidden,
                "--ro-bind" | "--ro-bind-try" => PathAccess::Read,
                _ => PathAccess::Write,
            };
            mounts.push((place, access));
        }
    }
    mounts
}

/// The mounts among the `--mount` arguments of a container.
fn of_container(words: impl Iterator<Item = String>) -> Vec<(PathBuf, PathAccess)> {
    let mount = |word: String| {
        let value = |key: &str| {
            let pair = word.split(',').find_map(|pair| pair.strip_prefix(key));
            pair.map(PathBuf::from)
        };
        let place = value("destination=").unwrap();
        let access = match value("source=") {
            Some(source) if source != place => PathAccess::Hidden,
            None => PathAccess::Hidden,
            Some(_) if word.ends_with(",readonly") => PathAccess::Read,
            Some(_) => PathAccess::Write,
        };
        (place, access)
    };
    words.map(mount).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn plan_masks_are_never_uncovered(
        named in prop::collection::vec(named(), 2 * FOLDERS.len())
    ) {
        let (root, paths) = tree();
        let plan = plan(&paths, &named);
        let init_program = Path::new("/opt/selvedge");
        let temporary = root.path().join("temporary");
        let bubblewrap = of_bubblewrap(&bubblewrap_arguments(&plan, &temporary, init_program));
        let wanted = ContainerRequest {
            name: "x",
            label: OsString::new(),
            temporary: &temporary,
            socket: &root.path().join("socket"),
            init_program,
            home: None,
        };
        let portable = PortableProgram::for_this_process(init_program).unwrap();
        let mounts = container_mounts(&plan, &wanted, &portable);
        let words = mounts.iter().map(|it| it.to_argument(false).unwrap().into_string().unwrap());
        let container = of_container(words);
        let granted = build_grants(&plan, &temporary);
        for path in &paths {
            let meant = meant(&paths, &named, path);
            // Paths that are not listed are in a folder for temporary files, which belongs to the session.
            let expected = meant.unwrap_or(PathAccess::Hidden);
            prop_assert_eq!(shown_by(&bubblewrap, path), Some(expected), "{:?}", path);
            prop_assert_eq!(shown_by(&container, path), Some(expected), "{:?}", path);
            // Grants are additive. One of them is the right to list a folder that has something hidden below it.
            let is_readable = granted
                .iter()
                .any(|(place, access)| path.starts_with(place) && access.contains(AccessFs::ReadFile));
            if path.is_file() {
                prop_assert_eq!(is_readable, meant != Some(PathAccess::Hidden), "{:?}", path);
            }
            let is_writable = granted
                .iter()
                .any(|(place, access)| path.starts_with(place) && access.contains(AccessFs::WriteFile));
            prop_assert!(!is_writable || meant == Some(PathAccess::Write), "{:?}", path);
        }
    }
}
