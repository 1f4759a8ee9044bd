//! The scripts that a check's command line runs: they define the check. Test files on a command line are not included:
//! writing tests there is the work.

use super::text::{HELPER_NAME, is_test_path};
use crate::model::{ProtectionPolicy, ProtectionRule, Step};

/// Programs whose first plain argument is the script that they run.
const INTERPRETERS: [&str; 10] = [
    "sh", "bash", "zsh", "dash", "python", "python3", "node", "ruby", "perl", "php",
];

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
    /// Without quotes, and relative to the workspace.
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

/// Empty for a command line that is not a list of plain words.
fn scripts_of_command(command: &str) -> Vec<ProtectionRule> {
    let words = shell_words::split(command).unwrap_or_default();
    let commands: Vec<&[String]> = words.split_inclusive(|word| is_separator(word)).collect();
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
    matches!(word, "&&" | "||" | ";" | "|")
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
    let mut rules = Vec::new();
    let mut at_start = true;
    let mut interpreted = false;
    for word in words.iter().take_while(|word| !is_separator(word)) {
        let is_assignment = at_start && word.contains('=') && !word.starts_with('=');
        if is_assignment || (interpreted && is_harmless_flag(word)) {
            continue;
        }
        let runs = (at_start && word.contains('/')) || interpreted;
        if runs && is_own_script(word) {
            rules.push(ProtectionRule {
                glob: globset::escape(word.trim_start_matches("./")),
                policy: ProtectionPolicy::Restore,
            });
        }
        interpreted = at_start && INTERPRETERS.contains(&word.as_str());
        at_start = false;
    }
    rules
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
