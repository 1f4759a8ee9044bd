//! Walls by the `bwrap` program: a mount namespace in which everything is read-only but what may be
//! written, a process namespace, and a network namespace where there is to be no network.
//!
//! Mount points are only made in folders of the session's own. bubblewrap would make missing ones in
//! a person's directories too, so nothing that is missing is ever named.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::plan::{Access, Plan};

/// The program.
pub(super) const PROGRAM: &str = "bwrap";

/// Where root steers the kernel by writing, whatever its rights.
const KERNEL: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
];

/// What is left of root's rights: those over the files that may be written anyway.
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

/// Folders for temporary files, which become the session's own.
pub(crate) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What the session's own one of those is called.
pub(crate) fn name_of_temporary(place: &Path) -> String {
    let name = place.strip_prefix("/").unwrap_or(place);
    name.to_string_lossy().replace('/', "-")
}

/// One mount; of two at one place the later one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mount {
    Base,
    Temporary,
    Place(Access),
}

/// The arguments that put `face` behind the walls of a plan; `temporary` is where the session's
/// temporary files are to lie.
pub(crate) fn arguments(plan: &Plan, temporary: &Path, face: &Path) -> Vec<OsString> {
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
    for (path, mount) in mounts(plan, face) {
        arguments.extend(words(&path, mount, temporary, &plan.source_of(&path)));
    }
    let is_root = rustix::process::geteuid().is_root();
    for steers in KERNEL
        .iter()
        .filter(|path| is_root && Path::new(path).exists())
    {
        arguments.extend(["--ro-bind", steers, steers].map(Into::into));
    }
    arguments.extend(["--".into(), face.into(), "__wall".into()]);
    arguments
}

/// Every mount, each after those above it: a mount covers whatever was mounted below its place before.
fn mounts(plan: &Plan, face: &Path) -> BTreeMap<PathBuf, Mount> {
    let base = ["/", "/dev", "/proc"].map(|path| (PathBuf::from(path), Mount::Base));
    let temporary = TEMPORARY.map(|path| (PathBuf::from(path), Mount::Temporary));
    let temporary = temporary.into_iter().filter(|(path, _)| is_folder(path));
    let places = plan.places().into_iter();
    base.into_iter()
        .chain(temporary)
        .chain(places.map(|(path, access)| (path, Mount::Place(access))))
        .chain([(face.to_owned(), Mount::Place(Access::Read))])
        .collect()
}

/// A link is followed by nobody: all paths are real ones.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn words(path: &Path, mount: Mount, temporary: &Path, source: &Path) -> Vec<OsString> {
    let one = |option: &str| vec![option.into(), path.into()];
    let two = |option: &str, from: &Path| vec![option.into(), from.into(), path.into()];
    match mount {
        Mount::Base if path == Path::new("/dev") => one("--dev"),
        Mount::Base if path == Path::new("/proc") => one("--proc"),
        Mount::Base => two("--ro-bind", path),
        Mount::Temporary => two("--bind", &temporary.join(name_of_temporary(path))),
        Mount::Place(Access::Hidden) if is_folder(path) => one("--tmpfs"),
        Mount::Place(Access::Hidden) => two("--ro-bind", Path::new("/dev/null")),
        Mount::Place(Access::Read) => two("--ro-bind-try", source),
        Mount::Place(Access::Write) => two("--bind-try", source),
    }
}
