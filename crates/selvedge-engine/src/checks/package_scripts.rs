//! Finds the test runner that a check starts: the check's own command, one of several that are joined by `&&`, or a
//! script of `package.json` that `npm test` and its like run.
//!
//! The commands that are found only repeat failed tests; whether a check passes is decided by its own command line.

use std::cell::OnceCell;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::command_line::plain_words;
use crate::workspace::DirHandle;

/// Maximum size of a `package.json` that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
/// Maximum depth of scripts that run scripts.
const MAX_DEPTH: usize = 3;
/// Maximum number of commands that are found, and of lines that are read for them: an agent can write the scripts.
const MAX_COMMANDS: usize = 32;
/// Where package managers install the programs that scripts call by their names.
const INSTALLED_PROGRAMS: &str = "node_modules/.bin";

/// The files of the directory that a check runs in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptFolder<'a> {
    /// Folders with the files of the workspace; the first one that has a file counts.
    pub(crate) roots: [&'a Path; 2],
    /// The directory below them.
    pub(crate) directory: &'a Path,
}

/// Returns the commands of a line that are run in its own directory, up to the first that needs a shell.
pub(super) fn commands_of(line: &str, folder: ScriptFolder<'_>) -> Vec<Vec<String>> {
    let mut search = CommandSearch {
        folder,
        scripts: OnceCell::new(),
        found: Vec::new(),
        lines: 0,
    };
    search.collect(line, 0);
    search.found
}

/// A search for the commands of a line and of the scripts that it runs.
struct CommandSearch<'a> {
    folder: ScriptFolder<'a>,
    /// The scripts of `package.json`, read when they are needed.
    scripts: OnceCell<Map<String, Value>>,
    found: Vec<Vec<String>>,
    /// Number of lines that were read.
    lines: usize,
}

impl CommandSearch<'_> {
    /// Returns whether all commands could be read, so that the next one is run in the same directory.
    fn collect(&mut self, line: &str, depth: usize) -> bool {
        self.lines += 1;
        let commands: Vec<_> = match plain_words(line) {
            Some(argv) => vec![Some(argv)],
            None => line
                .split("&&")
                .take(MAX_COMMANDS)
                .map(plain_words)
                .collect(),
        };
        commands.into_iter().all(|argv| {
            let Some(argv) = argv else {
                return false;
            };
            match script_name(&argv) {
                Some(name) if depth < MAX_DEPTH => match self.script(name) {
                    Some(script) if self.lines < MAX_COMMANDS => self.collect(&script, depth + 1),
                    _ => false,
                },
                _ => {
                    self.found.push(if depth == 0 {
                        argv
                    } else {
                        self.folder.with_installed_program(argv)
                    });
                    self.found.len() < MAX_COMMANDS
                }
            }
        })
    }

    fn script(&self, name: &str) -> Option<String> {
        let scripts = self.scripts.get_or_init(|| self.folder.scripts());
        scripts.get(name)?.as_str().map(str::to_owned)
    }
}

impl ScriptFolder<'_> {
    /// Reads the scripts of `package.json`; none if it cannot be read. Links are not followed, because an agent can
    /// write the folder.
    fn scripts(self) -> Map<String, Value> {
        let path = self.directory.join("package.json");
        let mut roots = self.roots.iter();
        let manifest = roots.find_map(|root| DirHandle::open_root(root).ok()?.open(&path).ok());
        let mut bytes = Vec::new();
        let read = manifest.map(|file| file.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes));
        let parsed = match read {
            Some(Ok(_)) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            _ => Value::Null,
        };
        match parsed {
            Value::Object(mut manifest) => match manifest.remove("scripts") {
                Some(Value::Object(scripts)) => scripts,
                _ => Map::new(),
            },
            _ => Map::new(),
        }
    }

    /// Names the installed program of a script's command by its path, because only package managers search there.
    fn with_installed_program(self, mut argv: Vec<String>) -> Vec<String> {
        if let Some(program) = argv.first_mut().filter(|program| !program.contains('/')) {
            let installed = Path::new(INSTALLED_PROGRAMS).join(&*program);
            let path = self.directory.join(&installed);
            let exists = |root: &&Path| root.join(&path).symlink_metadata().is_ok();
            if self.roots.iter().any(exists) {
                *program = installed.to_string_lossy().into_owned();
            }
        }
        argv
    }
}

/// Returns the script that a command runs without further arguments.
fn script_name(argv: &[String]) -> Option<&str> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["npm" | "pnpm" | "yarn", "test"] | ["npm" | "pnpm", "t"] => Some("test"),
        ["npm" | "pnpm" | "yarn" | "bun", "run", name] | ["npm", "run-script", name] => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn package_scripts_name_their_commands() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("node_modules/.bin")).unwrap();
        fs::write(at("node_modules/.bin/mocha"), "").unwrap();
        let manifest = r#"{"scripts": {
            "test": "npm run unit && jshint lib",
            "unit": "mocha -u tdd 'a b'",
            "moved": "cd sub && mocha",
            "piped": "eslint . && mocha | tee log && jest",
            "loop": "npm run loop",
            "many": "npm run more && npm run more && npm run more && npm run more && npm run more && npm run more",
            "more": "npm run most && npm run most && npm run most && npm run most && npm run most && npm run most",
            "most": "a && a && a && a && a && a"
        }}"#;
        fs::write(at("package.json"), manifest).unwrap();
        let found = |line: &str| -> Vec<String> {
            let package = ScriptFolder {
                roots: [Path::new("/missing"), folder.path()],
                directory: Path::new(""),
            };
            let commands = commands_of(line, package);
            commands.iter().map(|argv| argv.join(" ")).collect()
        };
        let mocha = "node_modules/.bin/mocha -u tdd a b";
        assert_eq!(found("npm test"), [mocha, "jshint lib"]);
        assert_eq!(found("mocha && yarn run unit"), ["mocha", mocha]);
        assert_eq!(found("CI=1 pytest"), ["env CI=1 pytest"]);
        assert_eq!(found("npm run piped"), ["eslint ."]);
        // The directory is another one.
        assert_eq!(found("npm run moved"), [""; 0]);
        assert_eq!(found("npm test -- --bail"), ["npm test -- --bail"]);
        assert_eq!(found("npm run missing"), [""; 0]);
        assert_eq!(found("npm run loop"), ["npm run loop"]);
        assert!(found("npm run many").len() <= MAX_COMMANDS);
        assert!(found(&vec!["a"; 1_000].join(" && ")).len() <= MAX_COMMANDS);
        // A command of the user's is the one on the search path.
        assert_eq!(found("mocha -g 'a && b'"), ["mocha -g a && b"]);
    }
}
