//! Documentation of the command line: manual pages, completions, and a page with the help of every
//! command. All of it is printed by the binary itself, so that it cannot differ from the binary.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use super::GeneratedFiles;
use crate::XtaskResult;
use crate::program::{self, cargo};
use crate::workspace::CargoMetadata;

const FOLDER: &str = "docs/generated";
const SHELLS: [(&str, &str); 3] = [
    ("bash", "selvedge.bash"),
    ("fish", "selvedge.fish"),
    ("zsh", "_selvedge"),
];

pub(super) fn generate_command_line() -> XtaskResult<GeneratedFiles> {
    let selvedge = SelvedgeBinary::build()?;
    let mut files = GeneratedFiles::new();
    files.extend(selvedge.manual_pages()?);
    for (shell, file) in SHELLS {
        files.insert(
            format!("{FOLDER}/{file}"),
            selvedge.capture_output(&["completions", shell])?,
        );
    }
    files.insert(format!("{FOLDER}/cli.md"), reference(&selvedge)?);
    Ok(files)
}

struct SelvedgeBinary(PathBuf);

impl SelvedgeBinary {
    fn build() -> XtaskResult<Self> {
        program::run(&mut cargo([
            "build",
            "--quiet",
            "--workspace",
            "--bin",
            "selvedge",
        ]))?;
        Ok(Self(
            CargoMetadata::workspace_only()?
                .target_directory
                .join("debug/selvedge"),
        ))
    }

    /// Runs the binary in an isolated environment, so that no settings and no terminal affect its
    /// output.
    fn capture_output(&self, args: &[&str]) -> XtaskResult<String> {
        let mut command = Command::new(&self.0);
        let text = program::capture_output(command.args(args).env_clear().env("COLUMNS", "100"))?;
        Ok(trim_lines(&text))
    }

    /// The manual page of every command.
    fn manual_pages(&self) -> XtaskResult<GeneratedFiles> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_string_lossy();
        self.capture_output(&["man", "--dir", &path])?;
        let mut pages = GeneratedFiles::new();
        for entry in std::fs::read_dir(folder.path())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(entry.path())?;
            pages.insert(format!("{FOLDER}/man/{name}"), trim_lines(&text));
        }
        Ok(pages)
    }
}

fn trim_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).collect::<Vec<_>>();
    lines.join("\n") + "\n"
}

fn reference(selvedge: &SelvedgeBinary) -> XtaskResult<String> {
    let mut page = "# The command line\n\nGenerated from `selvedge help`.\n".to_owned();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        args.push("--help");
        let help = selvedge.capture_output(&args)?;
        let title = [&["selvedge".to_owned()], words.as_slice()]
            .concat()
            .join(" ");
        let help_of_it = help.trim_end();
        writeln!(page, "\n## `{title}`\n\n```text\n{help_of_it}\n```")?;
        let below = listed_commands(&help).into_iter().rev();
        open.extend(below.map(|word| [words.as_slice(), &[word.to_owned()]].concat()));
    }
    Ok(page)
}

/// Returns the commands that a help text lists, below `Commands:` or headings such as `Hub commands:`.
fn listed_commands(help: &str) -> Vec<&str> {
    help.split("\n\n")
        .filter_map(|paragraph| paragraph.split_once('\n'))
        .filter(|(heading, _)| heading.ends_with("ommands:"))
        .flat_map(|(_, lines)| lines.lines())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_commands_are_read_from_help() {
        let help = "Does it.\n\nCommands:\n  run   Runs,\n        on two lines\n  show  Shows\n  \
                    help  Prints this\n\nOptions:\n  -h, --help  Print help\n";
        assert_eq!(listed_commands(help), ["run", "show"]);
        let groups = "Does it.\n\nRun commands:\n  run   Runs\n\nOther commands:\n  man   Prints\n\n\
                      Options:\n  -h, --help  Print help\n";
        assert_eq!(listed_commands(groups), ["run", "man"]);
        assert!(listed_commands("Usage: x\n").is_empty());
    }
}
