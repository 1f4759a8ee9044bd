//! Conditions of a package's exports that only some programs set: with one that the test runner sets, tests load another
//! file than users do.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Flag;
use crate::guard::ChangedFile;
use crate::model::{FindingKind, FindingSeverity};
use crate::prompt::one_line;

/// Conditions that users' programs set as well.
const COMMON_CONDITIONS: &str = "import require node node-addons module-sync module default types browser worker deno bun \
react-native electron production workerd edge-light netlify script style sass svelte asset umd esm cjs";
/// Maximum number of characters of a condition that are shown.
const MAX_CONDITION_CHARS: usize = 40;
/// Maximum depth of nested conditions.
const MAX_DEPTH: usize = 16;

/// What each condition leads to, by its place.
type Targets<'v> = BTreeMap<String, (&'v str, &'v Value)>;

/// Flags new targets of uncommon conditions in a changed manifest.
pub(super) fn flags(change: &ChangedFile<'_>) -> Vec<Flag> {
    let is_manifest = change.path.rsplit('/').next() == Some("package.json");
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return Vec::new();
    };
    if !is_manifest {
        return Vec::new();
    }
    let read = |bytes| serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let (before, after): (Value, Value) = (read(before), read(after));
    let (before, after) = (targets(&before), targets(&after));
    let mut new = after
        .into_iter()
        .filter(|(place, target)| before.get(place) != Some(target));
    let first = new.next().map(|(_, (condition, _))| {
        let condition = one_line(condition, MAX_CONDITION_CHARS);
        let what =
            format!("gives programs with the condition `{condition}` another file than others");
        let kind = FindingKind::TestDetection;
        Flag::new(None, kind, FindingSeverity::Strong, what)
    });
    first.into_iter().collect()
}

fn targets(manifest: &Value) -> Targets<'_> {
    let mut targets = Targets::new();
    for key in ["exports", "imports"] {
        add_targets(&mut targets, key, &manifest[key], 0);
    }
    targets
}

fn add_targets<'v>(targets: &mut Targets<'v>, place: &str, value: &'v Value, depth: usize) {
    let Some(table) = value.as_object().filter(|_| depth < MAX_DEPTH) else {
        return;
    };
    for (key, target) in table {
        let place = format!("{place} {key}");
        if is_uncommon(key) && differs_from_others(table, target) {
            targets.insert(place.clone(), (key, target));
        }
        add_targets(targets, &place, target, depth + 1);
    }
}

/// Whether a key is a condition, rather than a path or a name, that users' programs do not set.
fn is_uncommon(key: &str) -> bool {
    let is_path = key.starts_with(['.', '#']);
    let name = key.split('@').next().unwrap_or(key);
    !is_path && !COMMON_CONDITIONS.split_whitespace().any(|it| it == name)
}

fn differs_from_others(table: &Map<String, Value>, target: &Value) -> bool {
    let mut others = table
        .iter()
        .filter(|(key, _)| !key.starts_with("types") && !is_uncommon(key));
    others.any(|(_, other)| other != target)
}
