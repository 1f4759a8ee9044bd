//! From a command line that a person wrote to the words that are executed.
//!
//! A plain line is executed directly, so that a missing program is told from a failing one; a line
//! that needs a shell gets one. Only a person's own text comes here, never what a tool or an agent
//! printed.

/// Words that only a shell can execute.
const BUILTINS: &[&str] = &[
    ".", ":", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "eval",
    "exec", "exit", "export", "fg", "for", "function", "if", "jobs", "local", "read", "readonly",
    "return", "set", "shift", "source", "time", "trap", "type", "ulimit", "umask", "unset",
    "until", "wait", "while", "{", "!",
];

/// The words to execute.
pub fn to_argv(line: &str) -> Vec<String> {
    match plain_words(line) {
        Some(words) => words,
        None => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()],
    }
}

/// The program that a line begins with, as far as that can be told without a shell: past variable
/// assignments, `None` where the line begins with shell syntax.
pub fn first_program(line: &str) -> Option<&str> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| is_assignment(word));
    words
        .next()
        .filter(|word| is_plain(word) && !BUILTINS.contains(word))
}

fn plain_words(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let first = words.first()?;
    let one_line = !line.trim().contains('\n');
    let plain = one_line && words.iter().all(|word| is_plain(word));
    let program = !BUILTINS.contains(first) && !is_assignment(first);
    (plain && program).then(|| words.iter().map(|&word| word.to_owned()).collect())
}

/// Without anything that a shell would read as more than itself.
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
    fn a_plain_line_is_executed_directly_and_any_other_by_a_shell() {
        let direct = [
            "cargo test --workspace",
            "npx tsc -p tsconfig.json",
            "./check.sh a=b",
        ];
        for line in direct {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(to_argv(line), words);
        }
        let shell = [
            "a && b",
            "a | b",
            "a 'b c'",
            "A=1 a",
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
    fn the_program_of_a_line_is_found_past_assignments() {
        assert_eq!(
            first_program("CI=1 RUST_LOG=x cargo test | tee log"),
            Some("cargo")
        );
        assert_eq!(first_program("cd sub && make"), None);
        assert_eq!(first_program("$TOOL x"), None);
        assert_eq!(first_program(""), None);
    }
}
