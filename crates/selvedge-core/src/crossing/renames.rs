//! Names and modules that an attempt renamed, and the original tests with the new names.
//!
//! A name counts as renamed only if the sources of the base defined it, those of the attempt no longer define it
//! anywhere and define the new one instead, on lines that are otherwise the same. The tests that run are those of the
//! base: the attempt's tests are used only to leave unchanged what the attempt left unchanged.

use std::collections::{BTreeMap, BTreeSet};

use super::definitions::{code_lines, definitions, tokens};
use super::go_packages::{MovedPackage, find_moved_packages};
use super::namespaces::MovedTypes;
use super::references::{ReferenceTarget, folder_of, join, name_of, relative_path, stem_of};
use super::sides::{BaseFiles, CrossedFile, ProjectSide, Replacement};
use crate::guard::{ChangedFile, Pattern, SourceLanguage, is_test_path};

/// Old and new names of definitions and paths.
pub type NewNames = Vec<(String, String)>;

/// The original files as [`CrossedFile`]s, with the new names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenamedOriginals {
    /// The renamed names.
    pub names: NewNames,
    /// Replacements for the original files.
    pub files: Vec<CrossedFile>,
}

/// Applies the attempt's renames to the original files; `None` if there is nothing to rename.
pub fn rename_originals(
    base: &BaseFiles,
    changes: &[ChangedFile<'_>],
    crossed: &[CrossedFile],
) -> Option<RenamedOriginals> {
    let originals: BTreeMap<&str, &CrossedFile> = crossed
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    let is_original = |path: &str| {
        let replaced = originals.get(path);
        replaced.is_some_and(|file| match file.replacement {
            Replacement::Base | Replacement::Removed => {
                file.side == ProjectSide::Test || is_test_path(path)
            }
            Replacement::Merged(_) => is_test_path(path),
        })
    };
    let sources: Vec<&ChangedFile<'_>> = changes
        .iter()
        .filter(|change| {
            SourceLanguage::from_path(change.path).is_some() && !is_original(change.path)
        })
        .collect();
    let renames = Renames::find(base, &sources);
    if renames.is_empty() {
        return None;
    }
    let mut files: BTreeMap<String, CrossedFile> = BTreeMap::new();
    let mut moved = BTreeSet::new();
    let mut has_renamed = false;
    for change in changes {
        let Some(file) = originals.get(change.path) else {
            continue;
        };
        let now = change.after.and_then(as_text);
        // Data moves with the sources of its folder.
        let data = change.before.filter(|_| {
            file.replacement == Replacement::Base
                && change.after.is_none()
                && SourceLanguage::from_path(change.path).is_none()
        });
        let new_path = renames.path_of(change.path);
        if let Some(data) = data.filter(|_| new_path != change.path) {
            moved.insert(file.path.clone());
            let file = merged_at(&new_path, file, data.to_vec());
            files.insert(new_path, file);
            continue;
        }
        let text = match &file.replacement {
            Replacement::Base if is_original(change.path) => change.before.and_then(as_text),
            Replacement::Merged(bytes) if SourceLanguage::from_path(change.path).is_some() => {
                as_text(bytes)
            }
            _ => None,
        };
        let renamed = text.and_then(|text| {
            // A file that the attempt did not move stays in its place.
            let path = match now {
                Some(_) => change.path.to_owned(),
                None => new_path,
            };
            let text = renames.apply(change.path, &path, text, now)?;
            Some((path, text))
        });
        match renamed {
            None => {
                files
                    .entry(file.path.clone())
                    .or_insert_with(|| (*file).clone());
            }
            Some((path, text)) => {
                has_renamed = true;
                if path != file.path {
                    moved.insert(file.path.clone());
                }
                let file = merged_at(&path, file, text.into_bytes());
                files.insert(path, file);
            }
        }
    }
    for file in crossed.iter().filter(|file| !moved.contains(&file.path)) {
        files
            .entry(file.path.clone())
            .or_insert_with(|| file.clone());
    }
    let paths = renames.moves.iter();
    let paths = paths.map(|it| (it.from.to_owned(), it.to.to_owned()));
    has_renamed.then(|| RenamedOriginals {
        names: renames
            .names
            .iter()
            .map(to_owned_pair)
            .chain(renames.types.names())
            .chain(paths)
            .collect(),
        files: files.into_values().collect(),
    })
}

/// The lines of a document with spaces in place of all but its examples.
fn example_lines(text: &str) -> Vec<String> {
    let mut is_fenced = false;
    let lines = text.lines().map(|line| {
        let start = line.trim_start();
        is_fenced ^= start.starts_with("```");
        if is_fenced || start.starts_with(">>> ") || start.starts_with("... ") {
            line.to_owned()
        } else {
            " ".repeat(line.chars().count())
        }
    });
    lines.collect()
}

/// A source that has a new path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MovedSource<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

#[derive(Debug, Default)]
struct Renames<'a> {
    names: BTreeMap<String, String>,
    moves: Vec<MovedSource<'a>>,
    /// Folders of which all sources moved to another folder.
    folders: Vec<(&'a str, &'a str)>,
    /// Go packages in these folders.
    packages: Vec<MovedPackage<'a>>,
    /// Types in another namespace.
    types: MovedTypes,
    /// The language of the examples in documents: that of the changed sources.
    examples: Option<SourceLanguage>,
}

impl<'a> Renames<'a> {
    fn find(base: &BaseFiles, sources: &[&ChangedFile<'a>]) -> Self {
        let moves = find_moves(sources);
        let mut pairs: Vec<(SourceLanguage, &str, &str)> = Vec::new();
        for change in sources {
            let Some(language) = SourceLanguage::from_path(change.path) else {
                continue;
            };
            if let Some((before, after)) = text_versions(change.before, change.after) {
                pairs.push((language, before, after));
            }
        }
        let find = |path: &str| sources.iter().find(|change| change.path == path);
        for moved in &moves {
            let texts = find(moved.from).zip(find(moved.to));
            let texts = texts.and_then(|(from, to)| text_versions(from.before, to.after));
            if let Some(((before, after), language)) =
                texts.zip(SourceLanguage::from_path(moved.from))
            {
                pairs.push((language, before, after));
            }
        }
        let folders = moved_folders(base, sources, &moves);
        Self {
            names: find_names(base, sources, &pairs),
            types: MovedTypes::find(base, sources, &pairs),
            packages: find_moved_packages(sources, &moves, &folders),
            moves,
            folders,
            examples: sources
                .iter()
                .find_map(|change| SourceLanguage::from_path(change.path)),
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.moves.is_empty() && self.types.is_empty()
    }

    /// The new path of an original test, which moves with the sources of its folder.
    fn path_of(&self, path: &str) -> String {
        let moved = self.folders.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from)?.strip_prefix('/')?;
            Some(format!("{to}/{rest}"))
        });
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// The original test at `path` with the new names, to be stored at `new_path`; `None` if nothing changes, or if the
    /// test itself defines one of the new names. `now` is the attempt's version of the test.
    fn apply(&self, path: &str, new_path: &str, text: &str, now: Option<&str>) -> Option<String> {
        let own_language = SourceLanguage::from_path(path);
        let language = own_language.or(self.examples)?;
        let kept: BTreeSet<&str> = now.unwrap_or_default().lines().collect();
        let code = match own_language {
            Some(language) => code_lines(language, text),
            None => example_lines(text),
        };
        // Besides the original tests, a source contains the attempt's code, which uses the new names.
        let is_source = !is_test_path(path) && now.is_some();
        let own = code.iter().zip(text.lines());
        let mut own = own.filter(|(_, line)| !is_source || !kept.contains(line));
        let is_new_name = |token: &&str| self.names.values().any(|name| name == token);
        if own.any(|(code, _)| tokens(language, code).iter().any(&is_new_name)) {
            return None;
        }
        let mut renamed = String::with_capacity(text.len());
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let bare = line.trim_end_matches(['\n', '\r']);
            let code = code.get(index).map_or("", String::as_str);
            let new = if kept.contains(bare) && path == new_path {
                bare.to_owned()
            } else {
                // A module may have the same name as one of its items.
                let (module, rest) = bare.split_at(module_end(language, bare));
                let code: String = code.chars().skip(module.chars().count()).collect();
                module.to_owned() + &rename_tokens(language, rest, &code, &self.names)
            };
            let new = self.types.rename_in(language, text, &new);
            renamed += &self.rename_paths(language, (path, new_path), &new);
            renamed += &line[bare.len()..];
        }
        (renamed != text || path != new_path).then_some(renamed)
    }

    /// The line with the new paths of modules.
    fn rename_paths(&self, language: SourceLanguage, at: (&str, &str), line: &str) -> String {
        match language {
            SourceLanguage::Python => self.moves.iter().fold(line.to_owned(), |line, moved| {
                rename_python_module(&line, *moved)
            }),
            SourceLanguage::Go => self.packages.iter().fold(line.to_owned(), |line, package| {
                package.rename_in(&line, at)
            }),
            _ => self.rename_quoted_paths(at, line),
        }
    }

    fn rename_quoted_paths(&self, (path, new_path): (&str, &str), line: &str) -> String {
        static QUOTED_PATH: Pattern = Pattern::new(r#"(['"`])([\w@~./-]+)(['"`])"#);
        let Some(regex) = QUOTED_PATH.regex() else {
            return line.to_owned();
        };
        let replaced = regex.replace_all(line, |found: &regex::Captures<'_>| {
            let (open, quoted, close) = (&found[1], &found[2], &found[3]);
            let new = if quoted.starts_with('.') {
                self.relative(path, new_path, quoted)
            } else {
                // Aliases of a folder with sources.
                let mut aliases = ["@/", "~/"].into_iter();
                let alias = aliases
                    .find(|alias| quoted.starts_with(alias))
                    .unwrap_or("");
                let below = &quoted[alias.len()..];
                let new = self.moves.iter().find_map(|moved| moved.suffix(below));
                new.map(|new| format!("{alias}{new}"))
            };
            format!("{open}{}{close}", new.as_deref().unwrap_or(quoted))
        });
        replaced.into_owned()
    }

    /// Converts a relative path so that it leads from the new place to the file's current place.
    fn relative(&self, path: &str, new_path: &str, quoted: &str) -> Option<String> {
        let joined = join(folder_of(path), quoted)?;
        let moved = self.moves.iter().find_map(|moved| {
            let target = ReferenceTarget::new(moved.from);
            target.is_exactly(&joined).then(|| {
                let ending = moved.from.strip_prefix(joined.as_str());
                let end = ending.and_then(|ending| moved.to.strip_suffix(ending));
                end.unwrap_or(moved.to).to_owned()
            })
        });
        if moved.is_none() && folder_of(path) == folder_of(new_path) {
            return None;
        }
        let target = moved.unwrap_or_else(|| self.path_of(&joined));
        Some(relative_path(folder_of(new_path), &target))
    }
}

impl MovedSource<'_> {
    /// Replaces the last parts of the old path by the last parts of the new one.
    fn suffix(self, quoted: &str) -> Option<String> {
        let (from, to) = (self.from, self.to);
        let ending = [from, from.rsplit_once('.').map_or(from, |(path, _)| path)];
        let index = ending.iter().position(|path| {
            let rest = path.strip_suffix(quoted);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })?;
        let to = if index == 0 {
            to
        } else {
            to.rsplit_once('.').map_or(to, |(path, _)| path)
        };
        Some(last_parts(ending[index], to, quoted))
    }
}

/// The part of `to` that corresponds to the part `suffix` of `from`.
fn last_parts(from: &str, to: &str, suffix: &str) -> String {
    let root = from.strip_suffix(suffix).unwrap_or_default();
    if let Some(rest) = to.strip_prefix(root) {
        return rest.to_owned();
    }
    let count = suffix.split('/').count();
    let parts: Vec<&str> = to.split('/').collect();
    parts[parts.len().saturating_sub(count)..].join("/")
}

fn rename_python_module(line: &str, moved: MovedSource<'_>) -> String {
    static DOTTED: Pattern = Pattern::new(r"[A-Za-z_][\w.]*");
    static FROM: Pattern = Pattern::new(
        r"^(\s*)from[ \t]+([\w.]+)[ \t]+import[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*$",
    );
    static IMPORT: Pattern = Pattern::new(r"^(\s*)import[ \t]+([\w.]+)[ \t]*$");
    let new_name = |dotted: &str| {
        let path = dotted.trim_matches('.').replace('.', "/");
        let renamed = moved.suffix(&path).filter(|_| !path.is_empty())?;
        let renamed = renamed.strip_suffix("/__init__").unwrap_or(&renamed);
        Some(renamed.replace('/', "."))
    };
    let import = IMPORT.regex().and_then(|regex| regex.captures(line));
    let import = import.filter(|found| !found[2].contains('.'));
    if let Some((found, new)) = import.and_then(|found| new_name(&found[2]).map(|new| (found, new)))
    {
        return format!("{}import {new} as {}", &found[1], &found[2]);
    }
    if let Some(found) = FROM.regex().and_then(|regex| regex.captures(line)) {
        let (indent, package) = (&found[1], &found[2]);
        let names = found[3].split(',').map(str::trim);
        let imports: Vec<(String, bool)> = names
            .map(|name| match new_name(&format!("{package}.{name}")) {
                Some(new) => {
                    let (package, module) = new.rsplit_once('.').unwrap_or(("", &new));
                    let import = format!("import {module} as {name}");
                    let from = if package.is_empty() {
                        import
                    } else {
                        format!("from {package} {import}")
                    };
                    (format!("{indent}{from}"), true)
                }
                None => (format!("{indent}from {package} import {name}"), false),
            })
            .collect();
        if imports.iter().any(|(_, is_moved)| *is_moved) {
            let lines: Vec<String> = imports.into_iter().map(|(line, _)| line).collect();
            return lines.join("\n");
        }
    }
    let is_import = line.trim_start().starts_with("from ");
    let Some(regex) = DOTTED.regex() else {
        return line.to_owned();
    };
    let replaced = regex.replace_all(line, |found: &regex::Captures<'_>| {
        let dotted = &found[0];
        // The module itself, or an item in it: `shop.invoice.net`.
        let mut end = dotted.len();
        loop {
            let name = &dotted[..end];
            let is_whole =
                name.contains('.') || (is_import && end == dotted.len()) || end < dotted.len();
            let is_quoted = || {
                let before = found.get(0).map_or(0, |it| it.start());
                line[..before].ends_with(['"', '\''])
            };
            let counts = name.contains('.') || is_import || is_quoted();
            if let Some(new) = new_name(name).filter(|_| is_whole && counts) {
                return format!("{new}{}", &dotted[end..]);
            }
            match name.rfind('.') {
                Some(dot) => end = dot,
                None => return dotted.to_owned(),
            }
        }
    });
    replaced.into_owned()
}

/// The end of the module names in a Python line that imports from a module.
fn module_end(language: SourceLanguage, line: &str) -> usize {
    let statement = line.trim_start();
    match language {
        SourceLanguage::Python if statement.starts_with("import ") => line.len(),
        SourceLanguage::Python if statement.starts_with("from ") => {
            line.find(" import ").unwrap_or(0)
        }
        _ => 0,
    }
}

/// The line with the new names; `code` is the line without contents of strings and comments.
fn rename_tokens(
    language: SourceLanguage,
    line: &str,
    code: &str,
    names: &BTreeMap<String, String>,
) -> String {
    let code: Vec<char> = code.chars().collect();
    let mut renamed = String::with_capacity(line.len());
    let mut at = 0;
    for token in tokens(language, line) {
        let count = token.chars().count();
        let is_code = code
            .get(at..at + count)
            .is_some_and(|shown| shown.iter().copied().eq(token.chars()));
        let new = names.get(token).filter(|_| is_code);
        renamed += new.map_or(token, String::as_str);
        at += count;
    }
    renamed
}

/// Pairs removed sources with the added ones with which they have the most lines in common.
fn find_moves<'a>(sources: &[&ChangedFile<'a>]) -> Vec<MovedSource<'a>> {
    let removed = sources.iter().filter(|change| change.after.is_none());
    let mut found = Vec::new();
    let mut taken = BTreeSet::new();
    for gone in removed {
        let before = gone.before.and_then(as_text).unwrap_or_default();
        let lines: BTreeSet<&str> = lines_of(before).collect();
        let added = sources.iter().filter(|change| {
            change.before.is_none()
                && SourceLanguage::from_path(change.path) == SourceLanguage::from_path(gone.path)
                && !taken.contains(change.path)
        });
        let best = added
            .map(|change| {
                let after = change.after.and_then(as_text).unwrap_or_default();
                let same = lines_of(after).filter(|line| lines.contains(line)).count();
                let has_name = name_of(change.path) == name_of(gone.path);
                (same, has_name, change.path)
            })
            .max();
        let best = best.filter(|(same, has_name, _)| {
            2 * same >= lines.len() && (*same > 0 || (*has_name && lines.is_empty()))
        });
        let best = best
            .map(|(_, _, path)| path)
            .or_else(|| find_namesake(gone, sources).filter(|path| !taken.contains(path)));
        if let Some(path) = best {
            taken.insert(path);
            found.push(MovedSource {
                from: gone.path,
                to: path,
            });
        }
    }
    found
}

/// The only added source with the name of a removed one, if it defines everything that the removed one defined: a
/// source that was moved and rewritten.
fn find_namesake<'a>(gone: &ChangedFile<'_>, sources: &[&ChangedFile<'a>]) -> Option<&'a str> {
    let language = SourceLanguage::from_path(gone.path)?;
    let defined = |bytes: Option<&[u8]>| {
        let text = bytes.and_then(as_text).unwrap_or_default();
        definitions(language, text)
    };
    let mut named = sources.iter().filter(|change| {
        change.before.is_none()
            && name_of(change.path) == name_of(gone.path)
            && !matches!(stem_of(change.path), "__init__" | "index" | "mod" | "main")
    });
    let change = named.next().filter(|_| named.next().is_none())?;
    let before = defined(gone.before);
    let is_moved = !before.is_empty() && before.is_subset(&defined(change.after));
    is_moved.then_some(change.path)
}

/// Folders that no longer contain a source, with the folders that their sources moved to.
fn moved_folders<'a>(
    base: &BaseFiles,
    sources: &[&ChangedFile<'_>],
    moves: &[MovedSource<'a>],
) -> Vec<(&'a str, &'a str)> {
    let gone: BTreeSet<&str> = sources
        .iter()
        .filter(|change| change.after.is_none())
        .map(|change| change.path)
        .collect();
    let is_left = |folder: &str| {
        base.keys().any(|path| {
            let is_source = SourceLanguage::from_path(path).is_some() && !is_test_path(path);
            is_source && folder_of(path) == folder && !gone.contains(path.as_str())
        })
    };
    let mut folders: Vec<(&str, &str)> = moves
        .iter()
        .map(|moved| (folder_of(moved.from), folder_of(moved.to)))
        .filter(|(from, to)| !from.is_empty() && from != to)
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let to_one: Vec<(&str, &str)> = folders
        .iter()
        .filter(|(from, _)| folders.iter().filter(|(other, _)| other == from).count() == 1)
        .filter(|(from, _)| !is_left(from))
        .copied()
        .collect();
    to_one
}

/// Finds definitions that were renamed.
fn find_names(
    base: &BaseFiles,
    sources: &[&ChangedFile<'_>],
    pairs: &[(SourceLanguage, &str, &str)],
) -> BTreeMap<String, String> {
    let all = |is_before: bool| {
        let texts = sources.iter().filter_map(|change| {
            let bytes = if is_before {
                change.before
            } else {
                change.after
            };
            Some(definitions(
                SourceLanguage::from_path(change.path)?,
                as_text(bytes?)?,
            ))
        });
        texts.flatten().collect::<BTreeSet<String>>()
    };
    let (before, after) = (all(true), all(false));
    let changed: BTreeSet<&str> = sources.iter().map(|change| change.path).collect();
    let mut gone: BTreeSet<&String> = before.difference(&after).collect();
    let new: BTreeSet<&String> = after.difference(&before).collect();
    if gone.is_empty() || new.is_empty() {
        return BTreeMap::new();
    }
    for (path, bytes) in base {
        let text = bytes.as_deref().and_then(as_text).unwrap_or_default();
        let is_other = !changed.contains(path.as_str()) && !is_test_path(path);
        let holds = gone.iter().any(|name| text.contains(name.as_str()));
        if let Some(language) = SourceLanguage::from_path(path).filter(|_| is_other && holds) {
            let defined = definitions(language, text);
            gone.retain(|name| !defined.contains(*name));
        }
    }
    let mut votes: BTreeMap<(&String, &String), usize> = BTreeMap::new();
    for (language, before, after) in pairs {
        let (old, now) = (code_lines(*language, before), code_lines(*language, after));
        let (old, now) = (
            by_shape(*language, &old, &gone),
            by_shape(*language, &now, &new),
        );
        for (shape, lines) in &old {
            let others = now.get(shape).map_or(&[][..], Vec::as_slice);
            // Lines of the same shape keep their order, unless their number changes: then any of them may match any
            // other.
            let in_order = lines.len() == others.len();
            for (index, names) in lines.iter().enumerate() {
                let others = others.iter().enumerate();
                let others = others.filter(|(other, _)| !in_order || *other == index);
                for (name, other) in others.flat_map(|(_, others)| names.iter().zip(others)) {
                    *votes.entry((*name, *other)).or_default() += 1;
                }
            }
        }
    }
    let best = |name: &String, is_old: bool| {
        let of = votes.iter().filter(
            |((old, now), _)| {
                if is_old { *old == name } else { *now == name }
            },
        );
        of.max_by_key(|(_, count)| **count).map(|(pair, _)| *pair)
    };
    let chosen = gone.iter().filter_map(|name| {
        let (old, now) = best(name, true)?;
        (best(now, false) == Some((old, now))).then(|| (old.clone(), now.clone()))
    });
    chosen.collect()
}

/// An original test with these bytes at another path.
fn merged_at(path: &str, original: &CrossedFile, bytes: Vec<u8>) -> CrossedFile {
    CrossedFile {
        path: path.to_owned(),
        side: original.side,
        replacement: Replacement::Merged(bytes),
    }
}

/// The lines that contain some of these names: the names of each, keyed by the rest of the line.
fn by_shape<'n>(
    language: SourceLanguage,
    lines: &[String],
    names: &BTreeSet<&'n String>,
) -> BTreeMap<String, Vec<Vec<&'n String>>> {
    let mut shapes: BTreeMap<String, Vec<Vec<&'n String>>> = BTreeMap::new();
    for line in lines {
        let (shape, found) = shape_of(language, line, names);
        if !found.is_empty() {
            shapes.entry(shape).or_default().push(found);
        }
    }
    shapes
}

/// A line with these names replaced by a placeholder, and the names.
fn shape_of<'n>(
    language: SourceLanguage,
    line: &str,
    names: &BTreeSet<&'n String>,
) -> (String, Vec<&'n String>) {
    let mut shape = String::with_capacity(line.len());
    let mut found = Vec::new();
    for token in tokens(language, line.trim()) {
        match names.iter().find(|name| name.as_str() == token) {
            Some(name) => {
                shape.push('\0');
                found.push(*name);
            }
            None => shape.push_str(token),
        }
    }
    (shape, found)
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn text_versions<'a>(
    before: Option<&'a [u8]>,
    after: Option<&'a [u8]>,
) -> Option<(&'a str, &'a str)> {
    as_text(before?).zip(as_text(after?))
}

pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn to_owned_pair((from, to): (&String, &String)) -> (String, String) {
    (from.clone(), to.clone())
}
