//! Compares what a setup installs for an attempt with what it installs without it. A setup runs code of the attempt:
//! scripts of its packages, build hooks, patches. An installed file that a check loads must therefore be one that the
//! setup installs for the attempt's dependencies alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::crossing::{is_manifest, package_name, with_dependencies};
use crate::guard::{ChangedFile, Pattern};
use crate::model::is_dependency_input;

/// A dependency from a registry in a program, alone in its line: `gem "rack", "~> 3"`, `{:jason, "~> 1.4"},`; and what
/// can surround such lines.
static DECLARATION: Pattern = Pattern::new(concat!(
    r"^\s*(?:(?:gem|pod)\s+(?:'[\w./-]+'|\x22[\w./-]+\x22)(?:\s*,\s*(?:'[\w .<>=~!*-]*'|\x22[\w .<>=~!*-]*\x22))*",
    r"(?:\s*,\s*(?:require:\s*false|groups?:\s*\[?:[\w, :]+\]?))*",
    r"|\{:\w+,\s*\x22[\w .<>=~!-]*\x22(?:,\s*(?:only:\s*\[?:[\w, :]+\]?|runtime:\s*(?:true|false)))*\},?",
    r"|group\s+:\w+(?:\s*,\s*:\w+)*\s+do|end|#[^{]*)?\s*$",
));

/// Programs that list the dependencies of a project.
const PROGRAMS: [&str; 3] = ["Gemfile", "mix.exs", "Podfile"];

/// Files that package managers execute, or that determine where they install from and with which options.
const CODE_AND_SETTINGS: [&str; 10] = [
    "setup.py",
    "tox.ini",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "pnpm-workspace.yaml",
    "bunfig.toml",
    "pip.conf",
    "uv.toml",
    "environment.yml",
];

/// Installed files by their paths, relative to the workspace.
pub type InstalledFiles = BTreeMap<String, InstalledFile>;

/// An installed file or link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledFile {
    /// A hash of its bytes or of its target, if it was read.
    pub content: Option<String>,
    /// Its text or target, if it is [needed](has_text).
    pub text: Option<String>,
}

/// Whether a file is needed with its text: commands and links of packages, and lists of folders with modules.
pub fn has_text(path: &str) -> bool {
    match place_of(path) {
        Place::NodeCommand(_) => true,
        Place::NodeFile { below, .. } => below.is_empty(),
        _ => is_path_file(path),
    }
}

/// Returns the files by which the tree from before the attempt differs from one with the attempt's dependencies: lock
/// files, and manifests with other dependencies; `None` for a file that is absent there. `changes` are those of the
/// attempt, and `installed` was installed before.
pub fn dependency_files(
    changes: &[ChangedFile<'_>],
    installed: &InstalledFiles,
) -> BTreeMap<String, Option<Vec<u8>>> {
    let gone = changes.iter().filter(|change| change.after.is_none());
    let moved: BTreeSet<String> = gone
        .filter_map(|change| package_name(change.path, change.before?))
        .collect();
    let mut packages = package_names(installed);
    packages.retain(|name| !moved.contains(name));
    let file_of = |change: &ChangedFile<'_>| {
        let name = change.path.rsplit('/').next().unwrap_or(change.path);
        if !is_dependency_input(change.path) || CODE_AND_SETTINGS.contains(&name) {
            return None;
        }
        let Some(after) = change.after else {
            return Some(None);
        };
        if PROGRAMS.contains(&name) {
            return adds_only_dependencies(change).then(|| Some(after.to_vec()));
        }
        if !is_manifest(change.path) {
            return Some(Some(after.to_vec()));
        }
        // A new package of the project could have the name of an installed one.
        let name = package_name(change.path, after).filter(|_| change.before.is_none());
        if name.is_some_and(|it| packages.contains(&it) || packages.contains(&python_name(&it))) {
            return None;
        }
        with_dependencies(change.path, change.before, after).map(Some)
    };
    let files = changes.iter();
    files
        .filter_map(|change| Some((change.path.to_owned(), file_of(change)?)))
        .collect()
}

/// Whether every line that an attempt adds to a program declares a dependency.
fn adds_only_dependencies(change: &ChangedFile<'_>) -> bool {
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (before, after) = (text(change.before), text(change.after));
    let known: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let mut added = after.lines().filter(|line| !known.contains(line.trim()));
    change.before.is_some() && added.all(|line| DECLARATION.is_match(line))
}

/// Returns the files that differ from those before, and that are no part of the project itself, sorted. `is_program`
/// recognizes the names of programs that checks may call.
pub fn unexplained_files(
    before: &InstalledFiles,
    after: &InstalledFiles,
    is_program: impl Fn(&str) -> bool,
) -> Vec<String> {
    let comparison = Comparison {
        before,
        after,
        known: before.iter().filter_map(known_file).collect(),
        packages: packages_of(before),
        is_program,
    };
    let differing = after
        .iter()
        .filter(|(path, file)| before.get(*path).is_none_or(|it| differs(it, file)));
    let unexplained = differing.filter(|(path, file)| !comparison.explains(path, file));
    let mut paths: Vec<String> = unexplained.map(|(path, _)| path.clone()).collect();
    let removed = before.keys().filter(|path| comparison.lacks_part(path));
    paths.extend(removed.cloned());
    paths.sort();
    paths
}

/// A file that was not read before cannot be compared.
fn differs(before: &InstalledFile, after: &InstalledFile) -> bool {
    before.content.is_some() && before.content != after.content
}

struct Comparison<'a, F> {
    before: &'a InstalledFiles,
    after: &'a InstalledFiles,
    /// Files of packages before, wherever the package was.
    known: BTreeSet<(&'a str, &'a str, &'a str)>,
    /// The packages in `node_modules` before.
    packages: BTreeSet<&'a str>,
    is_program: F,
}

impl<F: Fn(&str) -> bool> Comparison<'_, F> {
    fn explains(&self, path: &str, file: &InstalledFile) -> bool {
        match place_of(path) {
            Place::NodeCommand(name) => self.explains_command(path, name, file),
            Place::NodeFile { package, below } => {
                let content = file.content.as_deref().unwrap_or_default();
                let is_new = !self.packages.contains(package);
                self.known.contains(&(package, below, content))
                    || below.is_empty() && self.explains_link(path, file, is_new)
            }
            Place::Python { name } => {
                is_metadata(path) || is_path_file(name) && is_list_of_folders(file)
            }
            Place::PythonCommand(name) => {
                !self.before.contains_key(path) && !(self.is_program)(name)
            }
            Place::Other => false,
        }
    }

    /// A package of the project, which is new or has moved.
    fn explains_link(&self, path: &str, file: &InstalledFile, is_new: bool) -> bool {
        let leads_to_project = |file: &InstalledFile| {
            let target = file.text.as_deref();
            target.is_some_and(|target| {
                target.starts_with("../") && !target.contains("node_modules/")
            })
        };
        let led_there = self.before.get(path).is_some_and(leads_to_project);
        leads_to_project(file) && (is_new || led_there)
    }

    /// A command of the same package, or a new one that hides no program.
    fn explains_command(&self, path: &str, name: &str, file: &InstalledFile) -> bool {
        let package = file.text.as_deref().and_then(target_package);
        let earlier = self.before.get(path);
        match (earlier.and_then(|it| it.text.as_deref()), package) {
            (Some(earlier), package) => package.is_some() && target_package(earlier) == package,
            (None, _) if earlier.is_some() => false,
            (None, _) => !(self.is_program)(name),
        }
    }

    /// Whether a file of a package is missing that is still installed in the same version.
    fn lacks_part(&self, path: &str) -> bool {
        let Place::NodeFile { below, .. } = place_of(path) else {
            return false;
        };
        let is_removed = !self.after.contains_key(path);
        let root = &path[..path.len() - below.len()];
        let manifest = format!("{root}package.json");
        is_removed && !below.is_empty() && self.after.contains_key(&manifest)
    }
}

/// Where an installed file belongs.
enum Place<'a> {
    /// A command in `node_modules/.bin`.
    NodeCommand(&'a str),
    /// A file in `node_modules`: its package, and its path in it.
    NodeFile {
        package: &'a str,
        below: &'a str,
    },
    /// A file among Python's modules.
    Python {
        name: &'a str,
    },
    /// A command in a Python environment.
    PythonCommand(&'a str),
    Other,
}

fn place_of(path: &str) -> Place<'_> {
    let below_modules = path.rsplit_once("node_modules/").map(|(_, rest)| rest);
    if let Some(rest) = below_modules {
        if let Some(name) = rest.strip_prefix(".bin/") {
            return Place::NodeCommand(name);
        }
        let (package, below) = split_package(rest);
        return if package.starts_with('.') {
            Place::Other
        } else {
            Place::NodeFile { package, below }
        };
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if path.contains("/site-packages/") || path.contains("/dist-packages/") {
        Place::Python { name }
    } else if folder.ends_with("/bin") {
        Place::PythonCommand(name)
    } else {
        Place::Other
    }
}

/// Splits the path of a file below `node_modules` into the name of its package and the rest.
fn split_package(path: &str) -> (&str, &str) {
    let names = 1 + usize::from(path.starts_with('@'));
    let ends = path.match_indices('/').map(|(at, _)| at);
    match ends.take(names).nth(names - 1) {
        Some(end) => (&path[..end], &path[end + 1..]),
        None => (path, ""),
    }
}

fn known_file<'a>(
    (path, file): (&'a String, &'a InstalledFile),
) -> Option<(&'a str, &'a str, &'a str)> {
    match place_of(path) {
        Place::NodeFile { package, below } => Some((package, below, file.content.as_deref()?)),
        _ => None,
    }
}

fn packages_of(files: &InstalledFiles) -> BTreeSet<&str> {
    let packages = files.keys().filter_map(|path| match place_of(path) {
        Place::NodeFile { package, .. } => Some(package),
        _ => None,
    });
    packages.collect()
}

/// The package that a command leads to: that of the last path in its link or script.
fn target_package(text: &str) -> Option<&str> {
    let (_, rest) = match text.rsplit_once("node_modules/") {
        Some(found) => found,
        None => text.rsplit_once("../")?,
    };
    let end = rest.find(['"', '\'', ' ', '\n']).unwrap_or(rest.len());
    let (package, below) = split_package(&rest[..end]);
    (!below.is_empty()).then_some(package)
}

/// The names of installed packages, as manifests name them.
fn package_names(files: &InstalledFiles) -> BTreeSet<String> {
    let infos = files.keys().filter_map(|path| {
        let (before, _) = path.split_once(".dist-info/")?;
        let folder = before.rsplit('/').next()?;
        Some(python_name(folder.split('-').next()?))
    });
    // A package of the project itself is only a link.
    let packages = files.keys().filter_map(|path| match place_of(path) {
        Place::NodeFile { package, below } if !below.is_empty() => Some(package.to_owned()),
        _ => None,
    });
    packages.chain(infos).collect()
}

/// A name as Python's package managers compare it.
fn python_name(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Records about an installed package. Its entry points are loaded by test runners.
fn is_metadata(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    folder.contains(".dist-info") && name != "entry_points.txt"
}

/// Whether Python reads the file to find further folders of modules.
fn is_path_file(path: &str) -> bool {
    path.rsplit('.').next() == Some("pth")
}

/// Whether Python executes none of the lines of a `.pth` file.
fn is_list_of_folders(file: &InstalledFile) -> bool {
    let text = file.text.as_deref();
    text.is_some_and(|text| text.lines().all(|line| !line.starts_with("import")))
}

#[cfg(test)]
mod tests;
