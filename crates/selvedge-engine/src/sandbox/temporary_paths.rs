//! Paths below the folders for temporary files that a session needs nevertheless: sessions with mounts get empty
//! folders in their place.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use super::bubblewrap::TEMPORARY_FOLDERS;
use super::paths::canonical;

/// The folder of services is hidden, and some tools put links into it.
const SERVICES_FOLDER: &str = "/run";

/// Number of programs in a folder of the search path that are examined.
const MAX_PROGRAMS: usize = 2_000;

/// Longest interpreter line of a script, in bytes.
const MAX_INTERPRETER_LINE: u64 = 512;

/// Names of folders with programs, whose parent contains the files of these programs.
const PROGRAM_FOLDERS: &[&str] = &["bin", "sbin", "libexec", ".bin"];

/// Whether a path is in a folder for temporary files.
pub(super) fn is_temporary(path: &Path) -> bool {
    TEMPORARY_FOLDERS.iter().any(|root| path.starts_with(root))
}

/// Whether a path is one of the folders for temporary files.
pub(super) fn is_temporary_folder(path: &Path) -> bool {
    TEMPORARY_FOLDERS.iter().any(|root| path == Path::new(root))
}

/// Paths to show.
#[derive(Debug, Default)]
pub(super) struct NeededPaths {
    /// Canonical paths.
    pub(super) shown: BTreeSet<PathBuf>,
    /// Paths through links, each with its canonical path.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl NeededPaths {
    /// Adds a path as a variable or a command line names it.
    pub(super) fn add(&mut self, path: &Path) {
        let Some(found) = canonical(path.to_owned()) else {
            return;
        };
        self.add_link(path, &found);
        if is_temporary(&found) && !is_temporary_folder(&found) {
            self.shown.insert(found);
        }
    }

    /// Adds a folder of the search path, with what its programs need.
    pub(super) fn add_program_folder(&mut self, folder: &Path) {
        let Some(found) = canonical(folder.to_owned()) else {
            return;
        };
        self.add(folder);
        self.add_installation(&found);
        if is_of_system(&found) {
            return;
        }
        let programs = fs::read_dir(&found).into_iter().flatten().flatten();
        for program in programs.take(MAX_PROGRAMS) {
            if program.file_type().is_ok_and(|kind| kind.is_symlink())
                && let Some(target) = canonical(program.path())
            {
                self.add_installation(&target);
            }
        }
    }

    /// Adds a program, and its interpreter if it is a script.
    pub(super) fn add_program(&mut self, program: &Path) {
        let Some(found) = canonical(program.to_owned()) else {
            return;
        };
        self.add_link(program, &found);
        self.add_installation(&found);
        // A link to an interpreter belongs to the virtual environment around it.
        if let Some((folder, name)) = program.parent().zip(program.file_name())
            && let Some(folder) = canonical(folder.to_owned())
        {
            self.add_installation(&folder.join(name));
        }
        if let Some(interpreter) = interpreter_of(&found) {
            if let Some(folder) = interpreter.parent() {
                self.add_program_folder(folder);
            }
            if let Some(interpreter) = canonical(interpreter) {
                self.add_installation(&interpreter);
            }
        }
    }

    /// Adds the repository around a workspace: builds read files of it.
    pub(super) fn add_repository(&mut self, workspace: &Path) {
        let mut above = workspace.ancestors().skip(1);
        if let Some(root) = above.find(|folder| folder.join(".git").exists())
            && is_temporary(root)
            && !is_temporary_folder(root)
        {
            self.shown.insert(root.to_owned());
        }
    }

    fn add_installation(&mut self, path: &Path) {
        if let Some(root) = installation_root(path) {
            self.shown.insert(root);
        }
    }

    fn add_link(&mut self, path: &Path, found: &Path) {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
        let is_replaced = is_temporary(path) || path.starts_with(SERVICES_FOLDER);
        if path != found && is_plain && is_replaced && !is_temporary_folder(path) {
            self.links.push((path.to_owned(), found.to_owned()));
        }
    }
}

/// What may be a path in a command line and the values of its environment, which may be lists of paths. A word that is a
/// text, such as a prompt, may contain any path and is left out; a shell's script is not.
pub(super) fn paths_named_by<'a>(
    argv: &'a [OsString],
    values: impl Iterator<Item = &'a OsString>,
) -> Vec<PathBuf> {
    let is_text = |word: &Cow<'_, str>| {
        word.contains(char::is_whitespace) && !Path::new(word.as_ref()).exists()
    };
    let words = argv.iter().map(|word| word.to_string_lossy());
    let lists = words.filter(|word| !is_text(word));
    let lists = lists.chain(values.map(|value| value.to_string_lossy()));
    let mut paths: Vec<PathBuf> = lists
        .flat_map(|list| {
            list.split([':', '='])
                .map(PathBuf::from)
                .collect::<Vec<_>>()
        })
        .collect();
    if let [shell, option, script] = argv
        && option == "-c"
        && shell.to_string_lossy().ends_with("sh")
    {
        let is_end = |it: char| it.is_whitespace() || "'\"`;&|()<>:=".contains(it);
        let script = script.to_string_lossy();
        paths.extend(script.split(is_end).map(PathBuf::from));
    }
    paths
}

/// The folder in which a program is installed, if it is below a folder for temporary files.
fn installation_root(path: &Path) -> Option<PathBuf> {
    if !is_temporary(path) || is_temporary_folder(path) {
        return None;
    }
    let folder = if path.is_dir() { path } else { path.parent()? };
    let is_named = |folder: &Path, names: &[&str]| {
        let name = folder.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| names.contains(&name))
    };
    let packages = folder
        .ancestors()
        .filter(|it| is_named(it, &["node_modules"]));
    let root = packages.last().unwrap_or(folder);
    let above = root.parent().filter(|above| !is_temporary_folder(above));
    let root = above
        .filter(|_| is_named(root, PROGRAM_FOLDERS))
        .unwrap_or(root);
    // Of a program among temporary files, only the program itself is shown.
    let root = if is_temporary_folder(root) {
        path
    } else {
        root
    };
    Some(root.to_owned())
}

/// Whether a folder belongs to the system, whose programs are not below folders for temporary files.
fn is_of_system(folder: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/nix", "/snap"]
        .iter()
        .any(|root| folder.starts_with(root))
}

/// The interpreter that the first line of a script names.
fn interpreter_of(program: &Path) -> Option<PathBuf> {
    let file = fs::File::open(program).ok()?;
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(MAX_INTERPRETER_LINE));
    reader.read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    words.next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_by_lists_and_scripts_but_not_by_prompts() {
        let named = |argv: &[&str], value: &str| {
            let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
            let value = OsString::from(value);
            let mut paths = paths_named_by(&argv, std::iter::once(&value));
            paths.retain(|path| path.is_absolute());
            paths
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            named(&["tool", "--path=/tmp/a:/tmp/b"], "/tmp/c"),
            paths(&["/tmp/a", "/tmp/b", "/tmp/c"])
        );
        let script = "cd /tmp/a && '/tmp/b/bin/python3' -m x";
        assert_eq!(
            named(&["/bin/sh", "-c", script], ""),
            paths(&["/bin/sh", "/tmp/a", "/tmp/b/bin/python3"])
        );
        assert!(named(&["agent", "--prompt", "Look at :/tmp/secret:"], "").is_empty());
    }

    #[test]
    fn temporary_programs_are_shown_with_their_files() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap();
        let package = root.join("lib/node_modules/tool/cli");
        let python = root.join("python/bin/python3");
        for file in [&package, &python] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        fs::create_dir(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(&package, root.join("bin/tool")).unwrap();
        let script = root.join("script");
        fs::write(&script, format!("#!{} -u\n", python.display())).unwrap();
        let mut needed = NeededPaths::default();
        needed.add_program_folder(&root.join("bin"));
        needed.add_program(&script);
        assert_eq!(
            needed.shown,
            BTreeSet::from([
                root.clone(),
                root.join("bin"),
                root.join("lib/node_modules"),
                root.join("python"),
                root.join("python/bin"),
            ])
        );
        needed.add_program(&root.join("bin/tool"));
        assert_eq!(needed.links, [(root.join("bin/tool"), package)]);
        let environment = root.join("work/.venv");
        fs::create_dir_all(environment.join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", environment.join("bin/python3")).unwrap();
        needed.add_program(&environment.join("bin/python3"));
        assert!(needed.shown.contains(&environment));
    }
}
