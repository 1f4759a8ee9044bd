//! Reads a task from a file: plain text, a task object in JSON as on the wire, or a task in TOML.

use std::io::Read;
use std::path::Path;

use selvedge_core::model::Task;

use crate::error::CliError;
use crate::output::print_notice;

/// Size limit for a task file, in bytes.
const MAX_TASK_BYTES: u64 = 1 << 20;

/// Why a text is not a task in TOML.
#[derive(Debug, thiserror::Error)]
enum TomlTaskError {
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    #[error("unknown key `{0}` in the task")]
    UnknownKey(String),
}

/// Reads a task; the path `-` means standard input.
pub(super) fn read_task(path: &Path) -> Result<Task, CliError> {
    let failed = |error: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "cannot read the task from {}: {error}",
            path.display()
        ))
    };
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MAX_TASK_BYTES + 1)
            .read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
        file.take(MAX_TASK_BYTES + 1).read_to_string(&mut text)
    };
    let length = read.map_err(|error| failed(&error))?;
    if length as u64 > MAX_TASK_BYTES {
        return Err(failed(&"it is larger than 1 MiB"));
    }
    if path.extension().is_some_and(|it| it == "toml") {
        return task_from_toml(&text).map_err(|error| failed(&error));
    }
    if text.trim_start().starts_with('{') {
        let (task, unknown) = task_from_json(&text).map_err(|error| failed(&error))?;
        for key in unknown {
            print_notice(&format!("unknown key `{key}` in the task, ignored"));
        }
        return Ok(task);
    }
    Ok(Task {
        description: text.trim_end().to_owned(),
        ..Task::default()
    })
}

/// Parses a task object as on the wire, where unknown keys are ignored. Also returns the unknown keys, so that the user
/// learns of a misspelled one.
fn task_from_json(text: &str) -> Result<(Task, Vec<String>), serde_json::Error> {
    let mut unknown = Vec::new();
    let mut document = serde_json::Deserializer::from_str(text);
    let task = serde_ignored::deserialize(&mut document, |path| unknown.push(key_path(&path)))?;
    document.end()?;
    Ok((task, unknown))
}

/// Parses a task written by hand. An unknown key such as `depend_on` is an error, because it is probably a mistake.
fn task_from_toml(text: &str) -> Result<Task, TomlTaskError> {
    let document = toml::Deserializer::parse(text)?;
    let mut unknown = Vec::new();
    let task = serde_ignored::deserialize(document, |path| unknown.push(key_path(&path)))?;
    match unknown.into_iter().next() {
        None => Ok(task),
        Some(key) => Err(TomlTaskError::UnknownKey(key)),
    }
}

/// Formats a key's path as users write it, without the marks for optional fields.
fn key_path(path: &serde_ignored::Path<'_>) -> String {
    path.to_string().replace(".?", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_file_plan_is_read_and_typos_are_reported() {
        let text = "description = \"all\"\n[[subtasks]]\nid = \"a\"\ndescription = \"x\"\n\
                    verification_steps = [{ type = \"command\", target = \"true\" }]\n\
                    [[subtasks]]\nid = \"b\"\ndescription = \"y\"\ndepends_on = [\"a\"]\n";
        let task = task_from_toml(text).unwrap();
        assert_eq!(task.subtasks[1].depends_on, ["a"]);
        let typo = text.replace("depends_on", "depend_on");
        assert_eq!(
            task_from_toml(&typo).unwrap_err().to_string(),
            "unknown key `subtasks.1.depend_on` in the task"
        );
        let (_, passed_over) =
            task_from_json(r#"{"description": "x", "budget": {"max_cost": 1}}"#).unwrap();
        assert_eq!(passed_over, ["budget.max_cost"]);
        let broken = task_from_toml("description = [1\n")
            .unwrap_err()
            .to_string();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
