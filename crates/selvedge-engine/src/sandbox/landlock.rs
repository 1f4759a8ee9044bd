//! Sandbox by the kernel's Landlock, which this process applies to itself and all its future children.
//!
//! Landlock only grants access, and to whole subtrees. So everything around a masked path is granted piece by piece,
//! and files that are created next to it later are not accessible: the restriction is rather too strict than too lax.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::plan::{PathAccess, SandboxPlan, paths};

/// The newest version that was tested; older kernels enforce the part that they support.
const NEWEST_ABI: ABI = ABI::V6;

/// Devices that any program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Terminals, existing and future ones: Landlock cannot distinguish them.
const TERMINALS: &[&str] = &["/dev/ptmx", "/dev/pts"];

/// Shared memory that builds write to.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// All rights except creating devices: with root's rights devices circumvent every path rule.
fn write_access() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

/// Drops root's capabilities except those over files, as bubblewrap does: some circumvent every rule.
fn drop_root_capabilities() -> io::Result<()> {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        | CapabilitySet::SETGID
        | CapabilitySet::SETUID
        | CapabilitySet::NET_BIND_SERVICE;
    let mut sets = capabilities(None)?;
    sets.effective &= kept;
    sets.permitted &= kept;
    sets.inheritable &= kept;
    Ok(set_capabilities(None, sets)?)
}

/// Prevents future children from signalling processes outside, and from connecting to them by abstract sockets. No
/// file is affected, so programs can still create sandboxes of their own.
pub(super) fn apply_scope() -> io::Result<()> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(NEWEST_ABI))
        .and_then(Ruleset::create);
    match rules {
        Ok(rules) => rules.restrict_self().map(drop).map_err(io::Error::other),
        // The kernel does not support scopes: the probe finds what is not enforced.
        Err(_) => Ok(()),
    }
}

/// Applies the restrictions of a plan to this process.
pub(super) fn restrict(plan: &SandboxPlan, temporary: &Path) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_ABI))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST_ABI)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    drop_root_capabilities()?;
    for (path, access) in build_grants(plan, temporary) {
        let Ok(opened) = PathFd::new(&path) else {
            continue;
        };
        // A rule that cannot be added grants nothing.
        let _ = (&mut ruleset).add_rule(PathBeneath::new(opened, access));
    }
    let status = ruleset.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("this kernel has no Landlock"));
    }
    Ok(())
}

/// The grants of a plan: each applies to everything below its path.
pub(super) fn build_grants(
    plan: &SandboxPlan,
    temporary: &Path,
) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let places = plan.access_by_path();
    let of = |wanted: PathAccess| {
        let those = places.iter().filter(move |(_, access)| **access == wanted);
        those.map(|(path, _)| path.clone())
    };
    let hidden: Vec<PathBuf> = of(PathAccess::Hidden).collect();
    let mut granting = LandlockGrants {
        grants: Vec::new(),
        denied: hidden.clone(),
    };
    let read = AccessFs::from_read(NEWEST_ABI);
    granting.denied.push(PathBuf::from("/dev"));
    granting.grant(Path::new("/"), read);
    granting.denied = hidden;
    for device in DEVICES {
        granting.grant(Path::new(device), write_access());
    }
    for path in of(PathAccess::Read) {
        granting.grant_explicit(&path, read);
    }
    granting.denied.extend(paths(&plan.protected));
    // Read-only paths inside of writable ones. Nothing can be created beside them.
    granting.denied.extend(of(PathAccess::Read));
    let mut writable: Vec<PathBuf> = of(PathAccess::Write).collect();
    writable.push(temporary.to_owned());
    if !plan.strict {
        writable.extend(TERMINALS.iter().map(PathBuf::from));
        writable.extend(super::bubblewrap::TEMPORARY_FOLDERS.map(PathBuf::from));
        writable.push(PathBuf::from(SHARED_MEMORY));
    }
    for path in writable {
        granting.grant_explicit(&path, write_access());
    }
    granting.grants
}

struct LandlockGrants {
    grants: Vec<(PathBuf, BitFlags<AccessFs>)>,
    /// Paths that are not granted, nor anything below them.
    denied: Vec<PathBuf>,
}

impl LandlockGrants {
    /// Grants a listed path, even inside of a denied one, without denied paths below it.
    fn grant_explicit(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        let below = |barred: &&PathBuf| barred.as_path() != path && barred.starts_with(path);
        let below = self.denied.iter().filter(below).cloned().collect();
        let barred = std::mem::replace(&mut self.denied, below);
        self.grant(path, access);
        self.denied = barred;
    }

    fn grant(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        if self.denied.iter().any(|barred| path.starts_with(barred)) {
            return;
        }
        if !self.denied.iter().any(|barred| barred.starts_with(path)) {
            self.add_rule(path, access);
            return;
        }
        self.add_rule(path, AccessFs::ReadDir.into());
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            // A link needs no grant: its target is granted at its own path.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.grant(&entry.path(), access);
            }
        }
    }

    /// Adds a rule; a path that has disappeared needs none.
    fn add_rule(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        let Ok(found) = fs::metadata(path) else {
            return;
        };
        let access = if found.is_dir() {
            access
        } else {
            access & AccessFs::from_file(NEWEST_ABI)
        };
        self.grants.push((path.to_owned(), access));
    }
}
