//! Walls by the kernel's Landlock, which this process puts around itself and all that it will start.
//!
//! Landlock only ever grants, whole subtrees at a time. So what lies around a masked place is granted
//! piece by piece, and what is made beside it later is not granted: too little rather than too much.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::plan::{PathAccess, SandboxPlan, paths};

/// The newest rules that were tried; an older kernel holds what it knows of them.
const NEWEST_ABI: ABI = ABI::V6;

/// Devices that any program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Devices in memory that builds write to.
const SHARED_MEMORY: &str = "/dev/shm";

/// All but making devices: with root's rights they lead past every path.
fn write_access() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

/// Gives up root's rights but those over files, as bubblewrap does: some lead past every rule.
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

/// Keeps everything that this process will start from signalling, or speaking by name to, what runs
/// outside. No file is touched by it, so that programs may still build walls of their own.
pub(super) fn apply_scope() -> io::Result<()> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(NEWEST_ABI))
        .and_then(Ruleset::create);
    match rules {
        Ok(rules) => rules.restrict_self().map(drop).map_err(io::Error::other),
        // A kernel that knows no scopes: what then does not hold is found by trying.
        Err(_) => Ok(()),
    }
}

/// Puts the walls of a plan around this process.
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
        // A rule that cannot be made grants nothing.
        let _ = (&mut ruleset).add_rule(PathBeneath::new(opened, access));
    }
    let status = ruleset.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("this kernel has no Landlock"));
    }
    Ok(())
}

/// What is granted where: each grant holds for all that lies below its path.
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
    let mut writable: Vec<PathBuf> = of(PathAccess::Write).collect();
    writable.push(temporary.to_owned());
    if !plan.strict {
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
    /// What is not granted, nor anything below it.
    denied: Vec<PathBuf>,
}

impl LandlockGrants {
    /// Grants a place that is named, also where it lies in what is barred, but nothing that is barred
    /// below it.
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
            // A link grants nothing: what it leads to is granted where it lies.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.grant(&entry.path(), access);
            }
        }
    }

    /// What is gone meanwhile needs no rule.
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
