//! Errors of the parser: hints that it cannot give, and the same label of hints as in other errors.

use std::ffi::OsString;

use anstream::adapter::strip_str;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands with a task as their only positional argument.
const TASK_COMMANDS: [&str; 2] = ["run", "submit"];
/// Characters that a shell interprets between double quotes.
const SPECIAL_IN_QUOTES: [char; 5] = ['"', '\\', '$', '`', '!'];

/// Adds a hint to an error about further words of a task that is not in quotes.
pub(super) fn suggest_quotes(error: &mut clap::Error, args: &[OsString]) {
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let command = args.get(1).and_then(|command| command.to_str());
    let Some(command) = command.filter(|command| TASK_COMMANDS.contains(command)) else {
        return;
    };
    if error.kind() != ErrorKind::UnknownArgument || unexpected.starts_with('-') {
        return;
    }
    let words = args.iter().skip(2).map_while(|word| word.to_str());
    let words: Vec<&str> = words.take_while(|word| !word.starts_with('-')).collect();
    let task = words.join(" ");
    let example = if words.len() > 1 && !task.contains(SPECIAL_IN_QUOTES) {
        task.as_str()
    } else {
        "fix the flaky login test"
    };
    let hint = format!("put the task in quotes: selvedge {command} \"{example}\"");
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![hint.into()]),
    );
}

/// The text of an error or of a help page, with styles.
pub(crate) fn render_error(error: &clap::Error) -> String {
    let text = error.render().ansi().to_string();
    if !error.use_stderr() {
        return text;
    }
    let with_label = |line: &str| {
        if strip_str(line).to_string().starts_with("  tip: ") {
            line.replacen("tip:", "hint:", 1)
        } else {
            line.to_owned()
        }
    };
    text.split('\n')
        .map(with_label)
        .collect::<Vec<_>>()
        .join("\n")
}
