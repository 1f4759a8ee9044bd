//! Go packages that an attempt moved to another folder, in the original tests that import them or belong to them.

use super::references::{folder_of, name_of};
use super::renames::{MovedSource, as_text};
use super::sides::{BaseProject, ProjectSide};
use crate::guard::{ChangedFile, Pattern, SourceLanguage};

/// A package with its old and new folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MovedPackage<'a> {
    folders: (&'a str, &'a str),
    names: (String, String),
}

/// Finds the packages in these folders that moved as a whole.
pub(super) fn find_moved_packages<'a>(
    sources: &[&ChangedFile<'a>],
    moves: &[MovedSource<'a>],
    folders: &[(&'a str, &'a str)],
) -> Vec<MovedPackage<'a>> {
    let name = |path: &str, is_before: bool| {
        let change = sources.iter().find(|change| change.path == path)?;
        let bytes = if is_before {
            change.before
        } else {
            change.after
        };
        let lines = as_text(bytes?)?.lines();
        let mut names = lines.filter_map(|line| line.strip_prefix("package "));
        Some(names.next()?.split_whitespace().next()?.to_owned())
    };
    let package = |&folders: &(&'a str, &'a str)| {
        let moved = moves.iter().find(|moved| {
            SourceLanguage::from_path(moved.from) == Some(SourceLanguage::Go)
                && (folder_of(moved.from), folder_of(moved.to)) == folders
        })?;
        let names = (name(moved.from, true)?, name(moved.to, false)?);
        Some(MovedPackage { folders, names })
    };
    folders.iter().filter_map(package).collect()
}

impl MovedPackage<'_> {
    /// Renames the package in a line (a package clause or an import) of the file with the given old and new path. The
    /// imported package keeps its old name in the file.
    pub(super) fn rename_in(&self, line: &str, (path, new_path): (&str, &str)) -> String {
        static IMPORT: Pattern =
            Pattern::new(r#"^([ \t]*(?:import[ \t]+)?)([\w.]+[ \t]+)?"([\w./~-]+)"[ \t]*$"#);
        let ((from, to), (old, new)) = (self.folders, (&self.names.0, &self.names.1));
        if let Some(name) = line.strip_prefix("package ") {
            let is_here = folder_of(path) == from && folder_of(new_path) == to;
            let ending = name.trim_end().strip_prefix(old.as_str());
            return match ending.filter(|ending| is_here && matches!(*ending, "" | "_test")) {
                Some(ending) => format!("package {new}{ending}"),
                None => line.to_owned(),
            };
        }
        let found = IMPORT.regex().and_then(|regex| regex.captures(line));
        let module = found.as_ref().and_then(|found| {
            let module = found[3].strip_suffix(from)?;
            module.ends_with('/').then(|| module.to_owned())
        });
        let Some((found, module)) = found.zip(module) else {
            return line.to_owned();
        };
        let alias = match found.get(2) {
            Some(alias) => alias.as_str().to_owned(),
            None if old == new => String::new(),
            None => format!("{old} "),
        };
        format!("{}{alias}\"{module}{to}\"", &found[1])
    }
}

impl BaseProject<'_> {
    /// The side of a file in a copy of another project. Of Go's copies, packages that are new and that no source
    /// of the base imports are the work's, and so is their list if it replaces nothing: Go compares it with `go.mod`.
    pub(super) fn side_of_vendored(&self, change: &ChangedFile<'_>) -> ProjectSide {
        let path = change.path;
        let Some((above, package)) = path
            .rsplit_once("vendor/")
            .filter(|(above, _)| above.is_empty() || above.ends_with('/'))
        else {
            return ProjectSide::Shared;
        };
        let lists = |bytes: Option<&[u8]>| bytes.and_then(as_text).unwrap_or_default().to_owned();
        let list = format!("{above}vendor/modules.txt");
        if !self.base.contains_key(&list) {
            return ProjectSide::Shared;
        }
        if path == list {
            let replaced = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| line.contains("=>"));
                lines.map(str::to_owned).collect()
            };
            let is_same = replaced(&lists(change.before)) == replaced(&lists(change.after));
            return if is_same && change.after.is_some() {
                ProjectSide::Work
            } else {
                ProjectSide::Shared
            };
        }
        let import = folder_of(package);
        let quoted = format!("\"{import}\"");
        let is_imported = || {
            let sources = self
                .base
                .keys()
                .filter(|other| SourceLanguage::from_path(other) == Some(SourceLanguage::Go));
            let mut texts = sources.filter_map(|other| self.text(other));
            texts.any(|text| text.contains(&quoted))
        };
        let is_new = change.before.is_none() && !self.has_folder(folder_of(path));
        if is_new && !name_of(import).is_empty() && !is_imported() {
            ProjectSide::Work
        } else {
            ProjectSide::Shared
        }
    }
}
