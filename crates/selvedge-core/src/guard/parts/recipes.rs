//! `make` and `just`: a target that existed keeps its recipe, and what says how recipes run stays
//! as it was. A new target is fine.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::super::ChangedFile;
use super::super::pattern::Pattern;
use super::judge::Switch;
use super::steps::IGNORES_FAILURE;

/// Targets with their prerequisites and recipes, variables with their values, and what else says
/// how recipes run.
#[derive(Debug, Default)]
struct Recipes {
    targets: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    /// Lines that steer all recipes (`include`, `set shell`, `.IGNORE`).
    steering: BTreeSet<String>,
}

/// Variables that say how every recipe runs.
const STEERING: [&str; 6] = [
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "MAKE",
];
static VARIABLE: Pattern =
    Pattern::new(r"^(?:export\s+|override\s+)*([\w.\-]+)\s*(?:[:?+!]{0,2}=)(.*)$");
/// Targets that no check runs.
static NO_CHECK: Pattern = Pattern::new(
    r"^(?:un)?(?:install|clean|dist|docs?|deploy|release|publish|run|serve|start|help|fmt|format|package|docker|push|tag|man|completions?|bench)(?:[-_/].*|\w*clean)?$",
);
static STEERS: Pattern = Pattern::new(
    r"^(?:-?include|sinclude|import|mod|set\s)\b|^\.(?:IGNORE|SILENT|ONESHELL|DEFAULT_GOAL|POSIX|EXPORT_ALL_VARIABLES)\b",
);

pub(super) fn compare_make(change: &ChangedFile<'_>, before: &str, after: &str) -> Vec<Switch> {
    let name = change.path.rsplit('/').next().unwrap_or(change.path);
    if change.before.is_none() && matches!(name, "GNUmakefile" | "makefile") {
        return vec![Switch::offence(
            "a makefile that `make` reads before `Makefile` was planted",
        )];
    }
    compare(
        &Recipes::read(before, make_target),
        &Recipes::read(after, make_target),
    )
}

pub(super) fn compare_just(before: &str, after: &str) -> Vec<Switch> {
    compare(
        &Recipes::read(before, just_target),
        &Recipes::read(after, just_target),
    )
}

/// Targets of a header, and where what they need begins.
type Header = fn(&str) -> Option<(Vec<String>, &str)>;

fn make_target(line: &str) -> Option<(Vec<String>, &str)> {
    static TARGET: Pattern = Pattern::new(r"^([^\s:=#][^:=#]*?)\s*::?(?:[^=]|$)");
    let names = TARGET.capture(line)?;
    let needs = line[names.len()..].trim_start_matches([' ', ':']);
    Some((names.split_whitespace().map(str::to_owned).collect(), needs))
}

/// A recipe of `just` may have parameters with defaults: `test *ARGS:`, `run name="x": build`.
fn just_target(line: &str) -> Option<(Vec<String>, &str)> {
    static TARGET: Pattern = Pattern::new(r"^@?([A-Za-z_][\w-]*)(?:\s[^:]*)?:(?:[^=]|$)");
    let name = TARGET.capture(line)?;
    let needs = line.split_once(':').map_or("", |(_, needs)| needs);
    Some((vec![name.to_owned()], needs))
}

impl Recipes {
    /// Recipes are indented; all else begins at the margin.
    fn read(text: &str, header: Header) -> Self {
        let mut recipes = Self::default();
        let mut current: Vec<String> = Vec::new();
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
        for line in joined.lines() {
            let bare = line.trim();
            if bare.is_empty() || bare.starts_with('#') {
                continue;
            }
            if line.starts_with([' ', '\t']) && !current.is_empty() {
                for target in &current {
                    let recipe = recipes.targets.entry(target.clone()).or_default();
                    recipe.push('\n');
                    recipe.push_str(bare);
                }
                continue;
            }
            current = recipes.at_the_margin(bare, header);
        }
        recipes
    }

    /// Takes a line that is no recipe; gives the targets whose recipe follows.
    fn at_the_margin(&mut self, line: &str, header: Header) -> Vec<String> {
        if STEERS.is_match(line) {
            self.steering.insert(line.to_owned());
            return Vec::new();
        }
        if let Some((names, needs)) = header(line) {
            self.need(&names, needs);
            return names;
        }
        if let Some(found) = VARIABLE.regex().and_then(|regex| regex.captures(line)) {
            let value = found[2].split_whitespace().collect::<Vec<_>>().join(" ");
            let known = self.variables.entry(found[1].to_owned()).or_default();
            known.push_str(&value);
            known.push(' ');
        }
        Vec::new()
    }

    fn need(&mut self, names: &[String], needs: &str) {
        for name in names {
            let recipe = self.targets.entry(name.clone()).or_default();
            for need in needs.split_whitespace() {
                recipe.push_str(" ← ");
                recipe.push_str(need);
            }
        }
    }
}

fn compare(old: &Recipes, new: &Recipes) -> Vec<Switch> {
    let mut switches = Vec::new();
    for (target, recipe) in &old.targets {
        // Phony targets and the like may grow; what installs or publishes checks nothing.
        if target.starts_with('.') || NO_CHECK.is_match(target) {
            continue;
        }
        match new.targets.get(target) {
            None => switches.push(Switch::offence(format!("target `{target}` is gone"))),
            Some(now) if !grew(recipe, now) => {
                switches.push(Switch::offence(format!(
                    "the recipe of `{target}` was changed"
                )));
            }
            Some(_) => {}
        }
    }
    for (name, value) in &new.variables {
        let is_new = !old.variables.contains_key(name);
        let was = old.variables.get(name).map_or("", String::as_str);
        let steers = STEERING.contains(&name.as_str());
        if was != value && (steers || (!is_new && !has_all_words(was, value))) {
            switches.push(Switch::offence(format!(
                "`{name}` was changed to `{}`",
                value.trim()
            )));
        }
    }
    for line in new
        .steering
        .iter()
        .filter(|line| !old.steering.contains(*line))
    {
        switches.push(Switch::offence(format!(
            "`{line}` was added: it changes how all recipes run"
        )));
    }
    for line in old
        .steering
        .iter()
        .filter(|line| !new.steering.contains(*line))
    {
        switches.push(Switch::offence(format!("`{line}` is gone")));
    }
    let added = new
        .targets
        .iter()
        .filter(|(name, _)| !old.targets.contains_key(*name));
    for (target, recipe) in added {
        if IGNORES_FAILURE.is_match(recipe) && is_check(target) {
            let what = format!("new target `{target}` succeeds whatever its commands say");
            switches.push(Switch::offence(what));
        }
    }
    switches
}

fn is_check(target: &str) -> bool {
    ["test", "check", "lint", "verify", "ci"]
        .iter()
        .any(|word| target.contains(word))
}

/// The same recipe, perhaps with more prerequisites.
fn grew(recipe: &str, now: &str) -> bool {
    let parts = |text: &str| -> (Vec<String>, String) {
        let (needs, commands) = text.split_once('\n').unwrap_or((text, ""));
        (
            needs.split(" ← ").map(str::to_owned).collect(),
            commands.to_owned(),
        )
    };
    let ((old_needs, old), (new_needs, new)) = (parts(recipe), parts(now));
    old == new && old_needs.iter().all(|need| new_needs.contains(need))
}

fn has_all_words(old: &str, new: &str) -> bool {
    let new: HashSet<&str> = new.split_whitespace().collect();
    old.split_whitespace().all(|word| new.contains(word))
}
