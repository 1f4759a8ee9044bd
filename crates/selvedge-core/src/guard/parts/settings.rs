//! A configuration file as settings, one value for each dotted key, whatever its format was; and
//! the comparison of two of them.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::Switch;

/// Dotted key to value, both as one line of text.
pub(super) type Settings = BTreeMap<String, String>;

/// What a setting means for the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Nothing: a dependency, a name, a marker.
    Free,
    /// A command that people call: a new one says nothing, changing or removing one is an offence.
    Fixed,
    /// It says how checks run. Changing or removing it is an offence; a new one is only shown.
    Watched,
    /// Having it at all switches checks off or redirects them.
    Switch,
    /// The other way round: it makes checks stricter, so only taking it away is an offence.
    Stricter,
}

/// Says what a key with this value means.
pub(super) type Judge = fn(key: &str, value: &str) -> Weight;

/// The differences that matter.
pub(super) fn compare(before: &Settings, after: &Settings, judge: Judge) -> Vec<Switch> {
    let mut switches = Vec::new();
    for (key, value) in after {
        let weight = judge(key, value);
        match before.get(key) {
            Some(old) if old == value || (selects(key) && grew(old, value)) => {}
            Some(old) => match (weight, judge(key, old)) {
                (Weight::Free, Weight::Free) | (Weight::Stricter, _) => {}
                _ => switches.push(Switch::offence(format!(
                    "`{key}` is {} instead of {}",
                    short(value),
                    short(old)
                ))),
            },
            None => match weight {
                Weight::Free | Weight::Fixed | Weight::Stricter => {}
                Weight::Watched => {
                    switches.push(Switch::note(format!("`{key}` is new: {}", short(value))));
                }
                Weight::Switch => {
                    switches.push(Switch::offence(format!("`{key}` is new: {}", short(value))));
                }
            },
        }
    }
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    for (key, old) in gone {
        // Taking a weakening away is no offence.
        if matches!(
            judge(key, old),
            Weight::Fixed | Weight::Watched | Weight::Stricter
        ) {
            switches.push(Switch::offence(format!("`{key}` is gone: {}", short(old))));
        }
    }
    switches
}

/// Lists of what is looked at: the longer, the stricter.
fn selects(key: &str) -> bool {
    let option = key.rsplit('.').next().unwrap_or(key);
    matches!(
        option,
        "select" | "extend-select" | "enable" | "testpaths" | "plugins" | "paths"
    )
}

/// Whether a list (of TOML or JSON, or of words) holds all that it held.
fn grew(old: &str, new: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let parts = text.split([',', '[', ']', ' ', '\n']);
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    words(old).is_subset(&words(new))
}

/// A value in the few characters that a line has for it.
fn short(value: &str) -> String {
    const MOST: usize = 60;
    let line: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return format!("`{line}`");
    }
    let cut: String = line.chars().take(MOST).collect();
    format!("`{cut}…`")
}
