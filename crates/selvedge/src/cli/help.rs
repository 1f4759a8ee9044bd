//! The commands in `selvedge --help`, grouped by use.

use std::fmt::Write as _;

use clap::Command;

/// Every command, once.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Run commands",
        &["run", "verify", "resume", "review", "restore"],
    ),
    ("History commands", &["list", "show", "stats", "ui", "gc"]),
    (
        "Setup commands",
        &["demo", "init", "doctor", "config", "known-failures"],
    ),
    (
        "Agent and CI commands",
        &["install", "uninstall", "digest", "mcp", "hook", "attest"],
    ),
    (
        "Hub commands",
        &[
            "hub",
            "worker",
            "workers",
            "projects",
            "tokens",
            "audit",
            "webhooks",
            "schedules",
            "submit",
            "watch",
            "cancel",
            "retry",
        ],
    ),
    ("Other commands", &["completions", "man", "help"]),
];

/// Width of the column with the commands.
const NAME_WIDTH: usize = 16;

/// Replaces the list of commands in the help by the groups.
pub(super) fn group_commands(command: Command) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{}\n{{options}}{{after-help}}",
        format_groups(&command),
        heading(&command, "Options"),
    );
    command.help_template(template)
}

fn format_groups(command: &Command) -> String {
    let style = command.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{}", heading(command, title));
        for name in names {
            let about = about(command, name);
            let _ = writeln!(text, "  {style}{name:<NAME_WIDTH$}{style:#}{about}");
        }
        text.push('\n');
    }
    text
}

fn heading(command: &Command, title: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{title}:{style:#}")
}

fn about(command: &Command, name: &str) -> String {
    // clap adds this command later.
    if name == "help" {
        return "Print the help of a command".to_owned();
    }
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn help_lists_every_command_once() {
        let command = Cli::command();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut expected: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }

    #[test]
    fn help_groups_fit_into_80_columns() {
        let groups = strip_str(&format_groups(&Cli::command())).to_string();
        for line in groups.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            let is_heading = line.is_empty() || line.ends_with(" commands:");
            assert!(is_heading || line.len() > 2 + NAME_WIDTH, "{line}");
        }
    }

    #[test]
    fn help_is_wrapped_by_the_terminal_only() {
        fn check(command: &Command) {
            let name = command.get_name();
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                let next = lines.peek().copied().unwrap_or_default();
                assert!(
                    !is_prose(line) || !is_prose(next),
                    "{name}: a paragraph is one line: {line}"
                );
                assert!(
                    is_prose(line) || line.chars().count() <= 100,
                    "{name}: too wide: {line}"
                );
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
