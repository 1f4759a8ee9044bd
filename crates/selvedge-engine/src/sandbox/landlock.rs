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

use super::plan::{Access as PlaceAccess, Plan, paths};

/// The newest rules that were tried; an older kernel holds what it knows of them.
const NEWEST: ABI = ABI::V6;

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
fn write() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

/// Gives up root's rights but those over files, as bubblewrap does: some lead past every rule.
fn renounce() -> io::Result<()> {
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
pub(super) fn scope() -> io::Result<()> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(NEWEST))
        .and_then(Ruleset::create);
    match rules {
        Ok(rules) => rules.restrict_self().map(drop).map_err(io::Error::other),
        // A kernel that knows no scopes: what then does not hold is found by trying.
        Err(_) => Ok(()),
    }
}

/// Puts the walls of a plan around this process.
pub(super) fn enclose(plan: &Plan, temporary: &Path) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    renounce()?;
    for (path, access) in grants(plan, temporary) {
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
pub(super) fn grants(plan: &Plan, temporary: &Path) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let places = plan.places();
    let of = |wanted: PlaceAccess| {
        let those = places.iter().filter(move |(_, access)| **access == wanted);
        those.map(|(path, _)| path.clone())
    };
    let hidden: Vec<PathBuf> = of(PlaceAccess::Hidden).collect();
    let mut granting = Granting {
        grants: Vec::new(),
        barred: hidden.clone(),
    };
    let read = AccessFs::from_read(NEWEST);
    granting.barred.push(PathBuf::from("/dev"));
    granting.grant(Path::new("/"), read);
    granting.barred = hidden;
    for device in DEVICES {
        granting.grant(Path::new(device), write());
    }
    for path in of(PlaceAccess::Read) {
        granting.open(&path, read);
    }
    granting.barred.extend(paths(&plan.kept));
    let mut writable: Vec<PathBuf> = of(PlaceAccess::Write).collect();
    writable.push(temporary.to_owned());
    if !plan.strict {
        writable.extend(super::bubblewrap::TEMPORARY.map(PathBuf::from));
        writable.push(PathBuf::from(SHARED_MEMORY));
    }
    for path in writable {
        granting.open(&path, write());
    }
    granting.grants
}

struct Granting {
    grants: Vec<(PathBuf, BitFlags<AccessFs>)>,
    /// What is not granted, nor anything below it.
    barred: Vec<PathBuf>,
}

impl Granting {
    /// Grants a place that is named, also where it lies in what is barred, but nothing that is barred
    /// below it.
    fn open(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        let below = |barred: &&PathBuf| barred.as_path() != path && barred.starts_with(path);
        let below = self.barred.iter().filter(below).cloned().collect();
        let barred = std::mem::replace(&mut self.barred, below);
        self.grant(path, access);
        self.barred = barred;
    }

    fn grant(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        if self.barred.iter().any(|barred| path.starts_with(barred)) {
            return;
        }
        if !self.barred.iter().any(|barred| barred.starts_with(path)) {
            self.rule(path, access);
            return;
        }
        self.rule(path, AccessFs::ReadDir.into());
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            // A link grants nothing: what it leads to is granted where it lies.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.grant(&entry.path(), access);
            }
        }
    }

    /// What is gone meanwhile needs no rule.
    fn rule(&mut self, path: &Path, access: BitFlags<AccessFs>) {
        let Ok(found) = fs::metadata(path) else {
            return;
        };
        let access = if found.is_dir() {
            access
        } else {
            access & AccessFs::from_file(NEWEST)
        };
        self.grants.push((path.to_owned(), access));
    }
}
