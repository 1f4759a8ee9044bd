//! Sandbox by the `bwrap` program: a mount namespace in which everything is read-only except for writable paths, a
//! process namespace, and a network namespace if there must be no network.
//!
//! Mount points are only created in the session's own folders. bubblewrap would also create missing ones in a user's
//! directories, so missing paths are never passed to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::plan::{PathAccess, SandboxPlan};

/// Name of the program.
pub(super) const PROGRAM: &str = "bwrap";

/// Paths by which root controls the kernel, whatever its capabilities.
const KERNEL_CONTROL_PATHS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
];

/// Remaining capabilities of root: those over files, which only apply to writable ones.
pub(super) const CAPABILITIES: &[&str] = &[
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_NET_BIND_SERVICE",
];

/// Folders for temporary files, which are replaced by the session's own.
pub(crate) const TEMPORARY_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

/// Name of the session's own folder in place of one of these.
pub(crate) fn temporary_folder_name(place: &Path) -> String {
    let name = place.strip_prefix("/").unwrap_or(place);
    name.to_string_lossy().replace('/', "-")
}

/// One mount; if two have the same path, the later one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BubblewrapMount {
    Base,
    Temporary,
    Path(PathAccess),
}

/// The arguments that run `init_program`, the init program, inside of a plan's sandbox; `temporary` is the folder for the
/// session's temporary files.
pub(crate) fn bubblewrap_arguments(
    plan: &SandboxPlan,
    temporary: &Path,
    init_program: &Path,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "--unshare-pid",
        "--unshare-ipc",
        "--as-pid-1",
        "--die-with-parent",
    ]
    .map(Into::into)
    .to_vec();
    if !plan.network {
        arguments.push("--unshare-net".into());
    }
    if rustix::process::geteuid().is_root() {
        let kept = CAPABILITIES.iter();
        arguments.extend(["--cap-drop", "ALL"].map(Into::into));
        arguments.extend(kept.flat_map(|name| ["--cap-add".into(), (*name).into()]));
    }
    for (path, mount) in bubblewrap_mounts(plan, init_program) {
        arguments.extend(mount_arguments(
            &path,
            mount,
            temporary,
            &plan.mount_source(&path),
        ));
    }
    for link in &plan.symlinks {
        arguments.extend([
            "--symlink".into(),
            (&link.target).into(),
            (&link.path).into(),
        ]);
    }
    let is_root = rustix::process::geteuid().is_root();
    for steers in KERNEL_CONTROL_PATHS
        .iter()
        .filter(|path| is_root && Path::new(path).exists())
    {
        arguments.extend(["--ro-bind", steers, steers].map(Into::into));
    }
    arguments.extend(["--".into(), init_program.into(), "__sandbox-init".into()]);
    arguments
}

/// Every mount, each after those above it: a mount covers earlier mounts below its path.
fn bubblewrap_mounts(
    plan: &SandboxPlan,
    init_program: &Path,
) -> BTreeMap<PathBuf, BubblewrapMount> {
    let base = ["/", "/dev", "/proc"].map(|path| (PathBuf::from(path), BubblewrapMount::Base));
    let temporary = TEMPORARY_FOLDERS.map(|path| (PathBuf::from(path), BubblewrapMount::Temporary));
    let temporary = temporary.into_iter().filter(|(path, _)| is_folder(path));
    let mut places = plan.access_by_path();
    // A file may have disappeared meanwhile; what does not exist needs no mask.
    places.retain(|path, access| *access != PathAccess::Hidden || path.exists());
    let places = places.into_iter();
    base.into_iter()
        .chain(temporary)
        .chain(places.map(|(path, access)| (path, BubblewrapMount::Path(access))))
        .chain([(
            init_program.to_owned(),
            BubblewrapMount::Path(PathAccess::Read),
        )])
        .collect()
}

/// Whether it is a folder. Links are not followed: all paths are canonical.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn mount_arguments(
    path: &Path,
    mount: BubblewrapMount,
    temporary: &Path,
    source: &Path,
) -> Vec<OsString> {
    let one = |option: &str| vec![option.into(), path.into()];
    let two = |option: &str, from: &Path| vec![option.into(), from.into(), path.into()];
    match mount {
        BubblewrapMount::Base if path == Path::new("/dev") => one("--dev"),
        BubblewrapMount::Base if path == Path::new("/proc") => one("--proc"),
        BubblewrapMount::Base => two("--ro-bind", path),
        BubblewrapMount::Temporary => two("--bind", &temporary.join(temporary_folder_name(path))),
        BubblewrapMount::Path(PathAccess::Hidden) if is_folder(path) => one("--tmpfs"),
        BubblewrapMount::Path(PathAccess::Hidden) => two("--ro-bind", Path::new("/dev/null")),
        BubblewrapMount::Path(PathAccess::Read) => two("--ro-bind-try", source),
        BubblewrapMount::Path(PathAccess::Write) => two("--bind-try", source),
    }
}
