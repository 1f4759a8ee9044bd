//! The scripts that a check's command line runs: they define the check. Test files on a command line are not included:
//! writing tests there is the work.

use super::text::{HELPER_NAME, is_test_path};
use crate::model::{ProtectionPolicy, ProtectionRule, Step};

/// Programs whose first plain argument is the script that they run.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "zsh", "dash", "ksh", "python", "python3", "node", "bun", "tsx", "ts-node",
    "ruby", "perl", "php", "lua",
];
/// Options of interpreters whose value is the next word, by the beginning of the program's name.
const OPTIONS_WITH_VALUE: [(&str, &[&str]); 10] = [
    ("python", &["-W", "-X"]),
    ("ruby", &["-I", "-r"]),
    ("perl", &["-I"]),
    ("php", &["-d"]),
    ("node", NODE_OPTIONS),
    ("bun", NODE_OPTIONS),
    ("ts", NODE_OPTIONS),
    ("bash", &["-o", "--rcfile"]),
    ("sh", &["-o"]),
    ("zsh", &["-o"]),
];
const NODE_OPTIONS: &[&str] = &[
    "-r",
    "--require",
    "--import",
    "--loader",
    "--env-file",
    "--experimental-loader",
];
/// Options whose value is the next word, of programs that only run another program.
const OPTIONS_OF_TRANSPARENT: [(&str, &[&str]); 4] = [
    ("timeout", &["-s", "-k"]),
    ("nice", &["-n"]),
    ("env", &["-u", "-C"]),
    ("sudo", &["-u", "-g", "-C", "-h"]),
];
/// Words before a command that do not change which program is run.
const TRANSPARENT: [&str; 24] = [
    "if",
    "then",
    "do",
    "else",
    "elif",
    "while",
    "until",
    "!",
    "{",
    "time",
    "exec",
    "command",
    "nohup",
    "eval",
    "env",
    "nice",
    "sudo",
    "xvfb-run",
    "stdbuf",
    "npx",
    "bunx",
    "cross-env",
    "dotenv",
    "--",
];
/// Package managers, and the word that precedes the command.
const RUNNERS: [(&str, &str); 10] = [
    ("poetry", "run"),
    ("uv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("bundle", "exec"),
    ("npm", "exec"),
    ("pnpm", "exec"),
];

/// The words of a command line, with separators as words of their own; none for a line that is not a list of words.
pub(crate) fn command_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in shell_words::split(line).unwrap_or_default() {
        let word = word.trim_start_matches('(');
        let word = if word.contains('(') {
            word
        } else {
            word.trim_end_matches(')')
        };
        match word.strip_suffix(';') {
            Some(word) if !word.is_empty() => words.extend([word.to_owned(), ";".to_owned()]),
            _ if word.is_empty() => {}
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The commands among the words, each with its separator.
pub(crate) fn commands_of(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.split_inclusive(|word| is_separator(word))
}

/// The name of the program that a command runs, without its folder, and its arguments.
pub(crate) fn program_of(command: &[String]) -> Option<(&str, &[String])> {
    let (program, arguments) = split_program(command)?;
    Some((program.rsplit('/').next().unwrap_or(program), arguments))
}

/// The program of a command, behind assignments, keywords and programs that only run another one.
fn split_program(command: &[String]) -> Option<(&str, &[String])> {
    let end = command.iter().position(|word| is_separator(word));
    let mut words = command.get(..end.unwrap_or(command.len()))?;
    let mut is_behind = false;
    loop {
        let (first, rest) = words.split_first()?;
        let is_assignment = first.contains('=') && !first.starts_with(['=', '-', '/', '.']);
        let runner = RUNNERS.iter().find(|(runner, _)| first == runner);
        let runs = runner.is_some_and(|(_, word)| rest.first().is_some_and(|it| it == word));
        let options = OPTIONS_OF_TRANSPARENT
            .iter()
            .find(|(name, _)| first == name);
        if let Some((_, with_value)) = options {
            let mut rest = rest;
            while let Some((word, behind)) = rest.split_first() {
                rest = match word {
                    word if with_value.contains(&word.as_str()) => behind.get(1..)?,
                    word if word.starts_with('-') => behind,
                    word if first == "timeout"
                        && word.starts_with(|c: char| c.is_ascii_digit()) =>
                    {
                        behind
                    }
                    _ => break,
                };
            }
            words = rest;
        } else if runs {
            words = rest.get(1..)?;
        } else if is_assignment || TRANSPARENT.contains(&first.as_str()) {
            words = rest;
        } else if is_behind && first.starts_with('-') {
            words = rest;
            continue;
        } else {
            return Some((first.as_str(), rest));
        }
        is_behind = true;
    }
}

/// One rule for each script of the workspace that the steps run.
pub(crate) fn scripts_of(steps: &[Step]) -> Vec<ProtectionRule> {
    let executed = steps.iter().filter(|step| step.kind.executes());
    let rules = executed.flat_map(|step| {
        let directory = step.directory.as_deref().unwrap_or_default();
        let directory = directory.trim_start_matches("./").trim_end_matches('/');
        let within = move |rule: ProtectionRule| {
            // A glob without a `/` applies in every directory anyway.
            let is_path = rule.glob.contains('/') && !matches!(directory, "" | ".");
            let glob = if is_path {
                format!("{}/{}", globset::escape(directory), rule.glob)
            } else {
                rule.glob
            };
            ProtectionRule { glob, ..rule }
        };
        scripts_of_command(&step.target).into_iter().map(within)
    });
    rules.collect()
}

/// A word of a check's command line that may name a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandWord {
    /// The path without quotes, relative to the workspace.
    pub(crate) text: String,
    /// Whether it is an argument of a program that compares files.
    pub(crate) is_compared: bool,
}

/// The words of the checks' command lines that may name files.
pub(crate) fn words_of(steps: &[Step]) -> Vec<CommandWord> {
    let executed = steps.iter().filter(|step| step.kind.executes());
    let words = executed.flat_map(|step| {
        let directory = step.directory.as_deref().unwrap_or_default();
        let directory = directory.trim_start_matches("./").trim_end_matches('/');
        let mut is_compared = false;
        let mut words = Vec::new();
        for word in shell_words::split(&step.target).unwrap_or_default() {
            let is_end = word.starts_with(['&', '|', ';']) || word.ends_with(';');
            let text = word.trim_matches(['(', ')', ';', '`', '$', '/']);
            let text = text.trim_start_matches("./");
            is_compared |= matches!(text, "diff" | "cmp" | "comm");
            let is_path = !text.is_empty() && !text.starts_with(['-', '~', '$', '.']);
            if is_path {
                let text = match directory {
                    "" | "." => text.to_owned(),
                    directory => format!("{directory}/{text}"),
                };
                words.push(CommandWord { text, is_compared });
            }
            is_compared &= !is_end;
        }
        words
    });
    words.collect()
}

/// Returns nothing for a command line that is not a list of plain words.
fn scripts_of_command(command: &str) -> Vec<ProtectionRule> {
    let words = command_words(command);
    let commands: Vec<&[String]> = commands_of(&words).collect();
    let mut rules = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let mut found = scripts_of_plain_command(command);
        if is_compared_later(command, commands.get(index + 1..).unwrap_or_default()) {
            // Its output is checked, so it is excluded unless it is a check itself.
            found.retain(|rule| {
                let name = rule.glob.rsplit('/').next().unwrap_or_default();
                HELPER_NAME.is_match(name)
            });
        }
        rules.append(&mut found);
    }
    rules
}

fn is_separator(word: &str) -> bool {
    matches!(word, "&&" | "||" | ";" | "|" | "&")
}

/// Whether a program that compares receives the output of a command, by a pipe or in a file.
fn is_compared_later(command: &[String], rest: &[&[String]]) -> bool {
    let compares = |command: &&[String]| {
        let program = command.first().map(String::as_str);
        matches!(program, Some("diff" | "cmp" | "comm"))
    };
    let is_piped = |command: &[String]| command.last().is_some_and(|word| word == "|");
    let rest_of_pipe = std::iter::once(command).chain(rest.iter().copied());
    let piped = rest_of_pipe
        .zip(rest)
        .take_while(|(from, _)| is_piped(from));
    if piped.map(|(_, to)| to).any(compares) {
        return true;
    }
    let mut redirected = command.iter().enumerate().filter_map(|(index, word)| {
        let target = word.trim_start_matches('1').strip_prefix('>')?;
        match target.trim_start_matches(['>', '|']) {
            "" => command.get(index + 1).map(String::as_str),
            target => Some(target),
        }
    });
    let compared: Vec<&String> = rest
        .iter()
        .filter(|command| compares(command))
        .flat_map(|command| command.iter().skip(1))
        .collect();
    redirected.any(|target| compared.iter().any(|word| word.as_str() == target))
}

/// Scripts of a command without `&&`, `|` and the like, except a final one.
fn scripts_of_plain_command(words: &[String]) -> Vec<ProtectionRule> {
    let Some((program, arguments)) = split_program(words) else {
        return Vec::new();
    };
    let mut named: Vec<&str> = Vec::new();
    if program.contains('/') {
        named.push(program);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if INTERPRETERS.contains(&name) || name.starts_with("python3.") {
        let mut options = OPTIONS_WITH_VALUE.iter();
        let options = options.find(|(program, _)| name.starts_with(program));
        let with_value = options.map_or(&[] as &[&str], |(_, options)| options);
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if with_value.contains(&word) {
                words.next();
            } else if !is_harmless_flag(word) {
                named.push(word);
                break;
            }
        }
    }
    named.retain(|word| is_own_script(word));
    let rule = |word: &str| ProtectionRule {
        glob: globset::escape(word.trim_start_matches("./")),
        policy: ProtectionPolicy::Restore,
    };
    named.into_iter().map(rule).collect()
}

/// After `-c`, `-m`, `-e` and `--test` no script follows; after `-n`, `-l` and `--check` it is only parsed.
fn is_harmless_flag(word: &str) -> bool {
    let ends_script = matches!(
        word,
        "-c" | "-m"
            | "-e"
            | "-p"
            | "-n"
            | "-l"
            | "--test"
            | "--eval"
            | "--check"
            | "--syntax-check"
    );
    word.starts_with('-') && !ends_script
}

fn is_own_script(word: &str) -> bool {
    let inside = !word.starts_with(['/', '-', '~', '$']) && !word.contains("..");
    inside && !word.contains("node_modules/") && !is_test_path(word.trim_start_matches("./"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StepKind;

    fn globs(command: &str) -> Vec<String> {
        let rules = scripts_of(&[Step::new(StepKind::Command, command)]);
        rules.into_iter().map(|rule| rule.glob).collect()
    }

    #[test]
    fn scripts_of_command_line() {
        for (command, scripts) in [
            ("./scripts/ci.sh --fast", &["scripts/ci.sh"][..]),
            ("bash -eu ci.sh && sh lint.sh", &["ci.sh", "lint.sh"]),
            ("CI=1 python3 run_all.py", &["run_all.py"]),
            ("python3 -m pytest tests", &[]),
            ("node --test app.test.js", &[]),
            ("python3 test_app.py", &[]),
            ("sh -c 'true'", &[]),
            ("bash -n app.sh && node --check app.js", &[]),
            ("/usr/bin/make test", &[]),
            ("cargo test", &[]),
            ("un'closed", &[]),
            ("sh total.sh 1 2 | diff - total.expected", &[]),
            (
                "./total.sh | sort | cmp - total.expected && sh ci.sh",
                &["ci.sh"],
            ),
            ("python3 app.py > out.txt && diff out.txt app.expected", &[]),
            (
                "sh run-checks.sh | diff - checks.expected",
                &["run-checks.sh"],
            ),
            ("sh total.sh | tail -1; diff one other", &["total.sh"]),
            (
                "if true; then poetry run python -W error ci.py; fi",
                &["ci.py"],
            ),
            ("env CI=1 timeout -k 5 60 ./ci/all", &["ci/all"]),
            ("node --env-file=a.conf --test", &[]),
            ("node app.js & sh ci.sh", &["app.js", "ci.sh"]),
        ] {
            assert_eq!(globs(command), scripts, "{command}");
        }
    }

    #[test]
    fn scripts_are_relative_to_step_directory() {
        let step = |kind, target, directory: &str| Step {
            directory: Some(directory.to_owned()),
            ..Step::new(kind, target)
        };
        let rules = scripts_of(&[
            step(StepKind::Command, "./ci/all.sh", "./web/"),
            step(StepKind::TestPasses, "sh ci.sh", "web"),
            step(StepKind::Command, "ci/all.sh", "."),
            step(StepKind::FileExists, "./ci/none.sh", "web"),
        ]);
        let globs: Vec<&str> = rules.iter().map(|rule| rule.glob.as_str()).collect();
        assert_eq!(globs, ["web/ci/all.sh", "ci.sh", "ci/all.sh"]);
    }
}
