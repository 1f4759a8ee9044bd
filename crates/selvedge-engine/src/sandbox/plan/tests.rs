//! Plans against what each backend makes of them: mounts in their order, and Landlock's grants.

use std::ffi::OsString;
use std::fs;

use landlock::AccessFs;
use proptest::prelude::*;

use super::super::container::Wanted;
use super::super::mounts::mounts;
use super::super::portable::Portable;
use super::super::{arguments, landlock::grants};
use super::*;

/// Folders of a tree, and a file in each of them.
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

/// The lists of a plan that name one place; the first ones mean most.
#[derive(Debug, Clone, Copy)]
struct Named {
    masked: bool,
    writable: bool,
    shown: bool,
    pinned: bool,
}

fn named() -> impl Strategy<Value = Named> {
    let rarely = || prop::bool::weighted(0.2);
    (rarely(), rarely(), rarely(), rarely()).prop_map(|(masked, writable, shown, pinned)| Named {
        masked,
        writable,
        shown,
        pinned,
    })
}

fn plan(paths: &[PathBuf], named: &[Named]) -> Plan {
    let those = |wanted: fn(&Named) -> bool| {
        let pairs = paths.iter().zip(named);
        let those = pairs.filter(|(_, it)| wanted(it));
        bytes(those.map(|(path, _)| path.clone()))
    };
    Plan {
        backend: Backend::Bubblewrap,
        writable: those(|it| it.writable),
        shown: those(|it| it.shown),
        pinned: those(|it| it.pinned),
        masked: those(|it| it.masked),
        kept: Vec::new(),
        network: true,
        strict: true,
        contained: None,
        moved: Vec::new(),
    }
}

/// What a plan means for a path: the nearest place that hides or opens it decides, and hiding wins.
fn meant(paths: &[PathBuf], named: &[Named], path: &Path) -> Option<Access> {
    let at = |place: &Path| {
        let index = paths.iter().position(|path| path == place)?;
        named.get(index).copied()
    };
    let mut is_pinned = false;
    for place in path.ancestors() {
        let Some(it) = at(place) else { continue };
        is_pinned |= it.pinned;
        if it.masked {
            return Some(Access::Hidden);
        }
        if it.writable && !is_pinned {
            return Some(Access::Write);
        }
        if it.writable || it.shown {
            return Some(Access::Read);
        }
    }
    None
}

/// The last mount that covers a path decides: what of the host it shows there.
fn shown_by(mounts: &[(PathBuf, Access)], path: &Path) -> Option<Access> {
    let covering = mounts
        .iter()
        .rev()
        .find(|(place, _)| path.starts_with(place));
    covering.map(|(_, access)| *access)
}

/// The mounts among the arguments of `bwrap`.
fn of_bubblewrap(arguments: &[OsString]) -> Vec<(PathBuf, Access)> {
    let mut words = arguments.iter().map(PathBuf::from);
    let mut mounts = Vec::new();
    while let Some(option) = words.next() {
        let option = option.to_string_lossy().into_owned();
        if ["--tmpfs", "--dev", "--proc"].contains(&option.as_str()) {
            mounts.push((words.next().unwrap(), Access::Hidden));
        } else if option.contains("bind") {
            let (source, place) = (words.next().unwrap(), words.next().unwrap());
            let access = match option.as_str() {
                _ if source != place => Access::Hidden,
                "--ro-bind" | "--ro-bind-try" => Access::Read,
                _ => Access::Write,
            };
            mounts.push((place, access));
        }
    }
    mounts
}

/// The same of the `--mount`s of a container.
fn of_container(words: impl Iterator<Item = String>) -> Vec<(PathBuf, Access)> {
    let mount = |word: String| {
        let value = |key: &str| {
            let pair = word.split(',').find_map(|pair| pair.strip_prefix(key));
            pair.map(PathBuf::from)
        };
        let place = value("destination=").unwrap();
        let access = match value("source=") {
            Some(source) if source != place => Access::Hidden,
            None => Access::Hidden,
            Some(_) if word.ends_with(",readonly") => Access::Read,
            Some(_) => Access::Write,
        };
        (place, access)
    };
    words.map(mount).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_mask_is_uncovered_by_nothing(
        named in prop::collection::vec(named(), 2 * FOLDERS.len())
    ) {
        let (root, paths) = tree();
        let plan = plan(&paths, &named);
        let face = Path::new("/opt/selvedge");
        let temporary = root.path().join("temporary");
        let bubblewrap = of_bubblewrap(&arguments(&plan, &temporary, face));
        let wanted = Wanted {
            name: "x",
            label: OsString::new(),
            temporary: &temporary,
            socket: &root.path().join("socket"),
            face,
            home: None,
        };
        let portable = Portable::of_this_process(face).unwrap();
        let mounts = mounts(&plan, &wanted, &portable);
        let words = mounts.iter().map(|it| it.word(false).unwrap().into_string().unwrap());
        let container = of_container(words);
        let granted = grants(&plan, &temporary);
        for path in &paths {
            let meant = meant(&paths, &named, path);
            // What is not named lies in a folder for temporary files, which is the session's own.
            let expected = meant.unwrap_or(Access::Hidden);
            prop_assert_eq!(shown_by(&bubblewrap, path), Some(expected), "{:?}", path);
            prop_assert_eq!(shown_by(&container, path), Some(expected), "{:?}", path);
            // Grants add up. Listing a folder that has something hidden below it is one of them.
            let is_readable = granted
                .iter()
                .any(|(place, access)| path.starts_with(place) && access.contains(AccessFs::ReadFile));
            if path.is_file() {
                prop_assert_eq!(is_readable, meant != Some(Access::Hidden), "{:?}", path);
            }
        }
    }
}
