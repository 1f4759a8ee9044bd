//! What a task protects: the built-in table and the user's own globs, less what the task allows.

use std::sync::{LazyLock, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

use super::builtin::{Entry, Kind, TABLE};
use super::finding::{Policy, Rule};
use super::mention::Words;
use super::text;

/// A glob that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{glob}` is no glob: {why}")]
pub struct BadGlob {
    /// As it was written.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a task and a repository protect: the built-in defaults and the user's own globs (which only
/// ever add), each with its policy, and what the task itself allows.
#[derive(Debug, Clone)]
pub struct Protection {
    user: GlobSet,
    policies: Vec<Policy>,
    allowed: GlobSet,
    description: String,
    /// The description's clauses, read when a path is first held against them.
    words: OnceLock<Words>,
}

/// The globs of [`TABLE`], and the entry that each of them belongs to. They are compiled when a path
/// is first held against them: most commands never do.
struct Builtin {
    globs: GlobSet,
    owners: Vec<&'static Entry>,
}

static BUILTIN: LazyLock<Builtin> = LazyLock::new(|| {
    let (owners, globs): (Vec<_>, Vec<_>) = TABLE
        .iter()
        .flat_map(|entry| entry.globs.iter().map(move |glob| (entry, *glob)))
        .unzip();
    // A test reads the whole table, so that none of its globs is malformed.
    let globs = set(globs, Case::Ignored).unwrap_or_default();
    Builtin { globs, owners }
});

/// Why a path is protected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded {
    pub(super) policy: Policy,
    /// How it is compared: a file of the user's own globs in every byte.
    pub(super) kind: Kind,
    /// Whether the task's own words speak of it.
    pub(super) asked_for: bool,
}

impl Protection {
    /// Of the user's rules the last one that fits a path holds. `allow` are the globs that the task
    /// allows; `task` is the task's description, whose words may allow a file too.
    pub fn new(user: &[Rule], allow: &[String], task: &str) -> Result<Self, BadGlob> {
        Ok(Self {
            user: set(user.iter().map(|rule| rule.glob.as_str()), Case::Ignored)?,
            policies: user.iter().map(|rule| rule.policy).collect(),
            allowed: set(allow.iter().map(String::as_str), Case::Kept)?,
            description: task.to_owned(),
            words: OnceLock::new(),
        })
    }

    /// Compiles the built-in globs ahead of time, which takes some milliseconds; otherwise the first
    /// path that is held against them waits for it.
    pub fn prepare() {
        LazyLock::force(&BUILTIN);
    }

    /// Whether the bytes of this path matter to [`super::inspect`]: it is protected, or it is text
    /// that the flags read. The caller may leave all others out.
    pub fn wants(&self, path: &str) -> bool {
        self.guarded(path).is_some() || text::is_read(path) || text::is_recorded(path)
    }

    /// Whether a changed or planted file at this path may have to be put back or removed.
    pub fn protects(&self, path: &str) -> bool {
        self.guarded(path)
            .is_some_and(|guarded| guarded.kind != Kind::Lock)
    }

    /// Whether the task's own words ask for a change of the protected file at this path.
    pub fn asks_for(&self, path: &str) -> bool {
        self.guarded(path).is_some_and(|guarded| guarded.asked_for)
    }

    /// The task's words.
    pub(super) fn task(&self) -> &Words {
        self.words.get_or_init(|| Words::of(&self.description))
    }

    /// Whether and how a path is protected; `None` too for what the task or the user allows.
    pub(super) fn guarded(&self, path: &str) -> Option<Guarded> {
        if self.allowed.is_match(path) {
            return None;
        }
        let folded = path.to_lowercase();
        let builtin = entry(path, &folded);
        let subjects = builtin.map_or(&[][..], |entry| entry.subjects);
        let by_user = self.user.matches(&folded).into_iter().next_back();
        let (policy, kind) = match (by_user.map(|index| self.policies[index]), builtin) {
            (Some(Policy::Allow), _) | (None, None) => return None,
            (Some(policy), _) => (policy, Kind::Whole),
            (None, Some(entry)) => (Policy::Restore, entry.kind),
        };
        Some(Guarded {
            policy,
            kind,
            asked_for: self.task().speak_of(path, subjects),
        })
    }
}

/// The entry of the built-in table that protects a path, which is given in lower case too.
fn entry(path: &str, folded: &str) -> Option<&'static Entry> {
    if text::is_python_cache(path) {
        return None;
    }
    let first = BUILTIN.globs.matches(folded).into_iter().next()?;
    BUILTIN.owners.get(first).copied()
}

/// Globs by themselves, read as those of a [`Protection`] are, and taken to the letter.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    /// Refuses the first one that does not parse.
    pub fn new(globs: &[String]) -> Result<Self, BadGlob> {
        set(globs.iter().map(String::as_str), Case::Kept).map(Self)
    }

    /// Whether one of them fits a path, which has `/` between its parts.
    pub fn fit(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Whether a set of globs tells `Makefile` from `makefile`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    /// The globs are held in lower case, and so must be the paths. The library's own way makes a
    /// regular expression of each glob, twenty times as slow to compile.
    Ignored,
}

/// A glob without a `/` holds in every directory, any other one from the workspace's root; one that
/// ends with `/` means all that is in that directory. Protection ignores case, as the file systems
/// of some machines do; what a task allows is taken to the letter.
fn set<'a>(globs: impl IntoIterator<Item = &'a str>, case: Case) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let mut pattern = glob.strip_prefix("./").unwrap_or(glob).to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        if !pattern.contains('/') {
            pattern.insert_str(0, "**/");
        }
        if case == Case::Ignored {
            pattern = pattern.to_lowercase();
        }
        let built = GlobBuilder::new(pattern.trim_start_matches('/'))
            .literal_separator(true)
            .build();
        set.add(built.map_err(|error| BadGlob {
            glob: glob.to_owned(),
            why: error.kind().to_string(),
        })?);
    }
    set.build().map_err(|error| BadGlob {
        glob: error.glob().unwrap_or_default().to_owned(),
        why: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_builtin_table_is_compiled() {
        let globs = TABLE.iter().flat_map(|entry| entry.globs).copied();
        assert_eq!(set(globs, Case::Ignored).err(), None);
        assert_eq!(BUILTIN.globs.len(), BUILTIN.owners.len());
    }
}
