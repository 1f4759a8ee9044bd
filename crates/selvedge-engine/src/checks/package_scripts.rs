//! Finds the test runner that a check starts: the check's own command, one of several that are joined by `&&`, or a
//! script of `package.json` that `npm test` and its like run.
//!
//! The commands that are found only repeat failed tests; whether a check passes is decided by its own command line.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::command_line::plain_words;
use crate::workspace::DirHandle;

/// Maximum size of a `package.json` that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
/// Maximum depth of scripts that run scripts.
const MAX_DEPTH: usize = 3;
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
    let mut found = Vec::new();
    folder.collect_commands(line, 0, &mut found);
    found
}

impl ScriptFolder<'_> {
    /// Returns whether all commands could be read, so that the next one is run in the same directory.
    fn collect_commands(self, line: &str, depth: usize, found: &mut Vec<Vec<String>>) -> bool {
        let commands = match plain_words(line) {
            Some(argv) => vec![Some(argv)],
            None => line.split("&&").map(plain_words).collect(),
        };
        commands.into_iter().all(|argv| {
            let Some(argv) = argv else {
                return false;
            };
            match script_name(&argv) {
                Some(name) if depth < MAX_DEPTH => match self.script(name) {
                    Some(script) => self.collect_commands(&script, depth + 1, found),
                    None => false,
                },
                _ if depth == 0 => {
                    found.push(argv);
                    true
                }
                _ => {
                    found.push(self.with_installed_program(argv));
                    true
                }
            }
        })
    }

    /// Reads a script of `package.json`. Links are not followed, because an agent can write the folder.
    fn script(self, name: &str) -> Option<String> {
        let path = self.directory.join("package.json");
        let mut roots = self.roots.iter();
        let manifest = roots.find_map(|root| DirHandle::open_root(root).ok()?.open(&path).ok())?;
        let mut bytes = Vec::new();
        manifest
            .take(MAX_MANIFEST_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        let manifest: Value = serde_json::from_slice(&bytes).ok()?;
        let script = manifest.get("scripts")?.get(name)?.as_str()?;
        Some(script.to_owned())
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
            "loop": "npm run loop"
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
        // A command of the user's is the one on the search path.
        assert_eq!(found("mocha -g 'a && b'"), ["mocha -g a && b"]);
    }
}
