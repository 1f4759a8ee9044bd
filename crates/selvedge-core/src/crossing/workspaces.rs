//! Go workspaces: modules that an attempt added to one.

use std::collections::BTreeSet;

use super::manifest::MergeResult;
use super::references::{folder_of, join, name_of};
use super::renames::as_text;
use super::sides::BaseProject;
use crate::guard::ChangedFile;

impl BaseProject<'_> {
    /// Merges a changed `go.work`; `None` for other files. Only modules that the attempt added in new folders are taken
    /// from it, and only if no original file contains their name: others could take the place of a dependency.
    pub(super) fn merge_workspace(&self, change: &ChangedFile<'_>) -> Option<MergeResult> {
        if name_of(change.path) != "go.work" {
            return None;
        }
        let (before, after) = (as_text(change.before?)?, as_text(change.after?)?);
        let (old, new) = (used_folders(before), used_folders(after));
        let folder = folder_of(change.path);
        let is_new =
            |used: &&&str| join(folder, used).is_some_and(|module| self.is_new_module(&module));
        let added: Vec<&&str> = new.difference(&old).filter(is_new).collect();
        if added.is_empty() {
            return None;
        }
        let mut merged = before.trim_end().to_owned();
        for used in added {
            merged += &format!("\nuse {used}");
        }
        merged.push('\n');
        Some(MergeResult::Merged(merged.into_bytes()))
    }

    /// Whether the attempt added a module in this folder, which did not exist, with a name that occurs nowhere.
    fn is_new_module(&self, folder: &str) -> bool {
        let Some(name) = self.added_modules.get(folder) else {
            return false;
        };
        let mut texts = self.base.keys().filter_map(|path| self.text(path));
        !self.has_folder(folder) && !texts.any(|text| text.contains(name.as_str()))
    }
}

/// The name of the module that a `go.mod` describes.
pub(super) fn module_name(change: &ChangedFile<'_>) -> Option<(String, String)> {
    if name_of(change.path) != "go.mod" || change.before.is_some() {
        return None;
    }
    let mut lines = as_text(change.after?)?.lines();
    let rest = lines.find_map(|line| line.trim().strip_prefix("module"))?;
    let name = rest.split("//").next()?.trim().trim_matches(['"', '`']);
    let is_plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '(');
    is_plain.then(|| (folder_of(change.path).to_owned(), name.to_owned()))
}

/// The folders that a workspace uses.
fn used_folders(text: &str) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => inside = true,
            Some(rest) if rest.starts_with([' ', '\t']) => {
                used.insert(rest.trim());
            }
            _ if line == ")" => inside = false,
            _ if inside && !line.is_empty() => {
                used.insert(line);
            }
            _ => {}
        }
    }
    used
}
