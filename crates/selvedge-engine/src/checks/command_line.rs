//! Converts a command line that a person wrote into an argument vector.
//!
//! A simple line is executed directly, so that a missing program can be distinguished from a failing one. A line that
//! needs a shell gets one. Use it only for text that a person wrote, never for output of a tool or an agent.

/// Words that only a shell can execute.
const SHELL_BUILTINS: &[&str] = &[
    ".", ":", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "eval",
    "exec", "exit", "export", "fg", "for", "function", "if", "jobs", "local", "read", "readonly",
    "return", "set", "shift", "source", "time", "trap", "type", "ulimit", "umask", "unset",
    "until", "wait", "while", "{", "!",
];

/// Returns the argument vector of a command line.
pub fn to_argv(line: &str) -> Vec<String> {
    match plain_words(line) {
        Some(words) => words,
        None => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()],
    }
}

/// Returns the first program of a line, as far as it can be found without a shell. Variable assignments are skipped.
/// Returns `None` if the line begins with shell syntax or assigns `PATH`.
pub fn first_program(line: &str) -> Option<&str> {
    let mut assignments = line
        .split_whitespace()
        .take_while(|word| is_assignment(word));
    if assignments.any(|word| word.starts_with("PATH=")) {
        return None;
    }
    let mut words = line
        .split_whitespace()
        .skip_while(|word| is_assignment(word));
    words
        .next()
        .filter(|word| is_plain(word) && !SHELL_BUILTINS.contains(word))
}

/// Returns the programs that a line executes, as far as they can be found without a shell. Returns none if the line
/// changes where programs are found.
pub(super) fn programs_in(line: &str) -> impl Iterator<Item = &str> {
    let commands = || line.split(['\n', ';', '&', '|', '(', ')']);
    let sets_path = commands().any(|command| {
        let mut words = command.split_whitespace();
        words.clone().any(|word| word.starts_with("PATH="))
            || matches!(words.next(), Some("." | "source" | "eval"))
    });
    commands()
        .filter(move |_| !sets_path)
        .filter_map(first_program)
}

/// Splits a simple command into words, with `env` before the variables that it sets. Returns `None` if the line needs a
/// shell.
pub(super) fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut rest = line.trim_matches([' ', '\t']);
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (word, after) = next_word(rest)?;
        words.push(word);
        rest = after.trim_start_matches([' ', '\t']);
    }
    let set = words.iter().take_while(|word| is_assignment(word)).count();
    let program = words.get(set)?;
    if SHELL_BUILTINS.contains(&program.as_str()) {
        return None;
    }
    if set > 0 {
        words.insert(0, "env".to_owned());
    }
    Some(words)
}

/// Splits off the first word of a text that begins with one. Returns the word without its quotes, and the rest.
fn next_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let quoted = match first {
            ' ' | '\t' => break,
            '\'' | '"' => rest[1..].split_once(first)?,
            _ => {
                let end = rest.find([' ', '\t', '\'', '"']).unwrap_or(rest.len());
                let (plain, after) = rest.split_at(end);
                is_plain(plain).then(|| word.push_str(plain))?;
                rest = after;
                continue;
            }
        };
        let (inside, after) = quoted;
        // A shell expands variables and reads backslashes in double quotes.
        if first == '"' && inside.contains(['$', '`', '\\', '!']) || inside.contains('\n') {
            return None;
        }
        word.push_str(inside);
        rest = after;
    }
    Some((word, rest))
}

/// Returns whether a word has no characters that a shell interprets.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphanumeric() || "_-./:@,+=%^".contains(c))
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_plain_runs_without_shell() {
        let direct = [
            "cargo test --workspace",
            "npx tsc -p tsconfig.json",
            "./check.sh a=b",
        ];
        for line in direct {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(to_argv(line), words);
        }
        let split = [
            ("a 'b c' \"d | e\"", vec!["a", "b c", "d | e"]),
            ("a -k'b'c ''", vec!["a", "-kbc", ""]),
            ("A=1 B='x y' a", vec!["env", "A=1", "B=x y", "a"]),
        ];
        for (line, words) in split {
            assert_eq!(to_argv(line), words);
        }
        let shell = [
            "a && b",
            "a | b",
            "a \"$b\"",
            "a 'b c",
            "a 'b\nc'",
            "A=1",
            "A=$B a",
            "cd x",
            "exit 3",
            "a\nb",
            "echo $HOME",
            "ls *.rs",
            "a > b",
            "! a",
            "",
        ];
        for line in shell {
            assert_eq!(to_argv(line), ["/bin/sh", "-c", line]);
        }
    }

    #[test]
    fn command_line_program_follows_assignments() {
        assert_eq!(
            first_program("CI=1 RUST_LOG=x cargo test | tee log"),
            Some("cargo")
        );
        assert_eq!(first_program("cd sub && make"), None);
        assert_eq!(first_program("PATH=bin:$PATH tool"), None);
        let all = |line| programs_in(line).collect::<Vec<_>>();
        assert_eq!(
            all("cd sub && A=1 make x | (sort; ./b)"),
            ["make", "sort", "./b"]
        );
        assert_eq!(all(". venv/bin/activate && pytest"), [""; 0]);
        assert_eq!(all("export PATH=bin:$PATH; tool"), [""; 0]);
        assert_eq!(first_program("$TOOL x"), None);
        assert_eq!(first_program(""), None);
    }
}
