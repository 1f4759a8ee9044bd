//! A task from a file: plain text, a task object in JSON as on the wire, or one in TOML, as people write
//! plans.

use std::io::Read;
use std::path::Path;

use selvedge_core::model::Task;

use super::print_notice;
use crate::error::CliError;

/// A task larger than this is no task.
const MAX_TASK_BYTES: u64 = 1 << 20;

/// Reads a task; `-` is standard input.
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
            print_notice(&format!("a task has no `{key}`: it is passed over"));
        }
        return Ok(task);
    }
    Ok(Task {
        description: text.trim_end().to_owned(),
        ..Task::default()
    })
}

/// As on the wire, where what is not known is passed over; a person is told, for it may be a cap that is
/// misspelt.
fn task_from_json(text: &str) -> Result<(Task, Vec<String>), serde_json::Error> {
    let mut unknown = Vec::new();
    let mut document = serde_json::Deserializer::from_str(text);
    let task = serde_ignored::deserialize(&mut document, |path| unknown.push(key_path(&path)))?;
    document.end()?;
    Ok((task, unknown))
}

/// Written by hand, so a key that means nothing is a mistake: a `depend_on` must not be passed over as
/// the wire passes over what it does not know.
fn task_from_toml(text: &str) -> Result<Task, String> {
    let document = toml::Deserializer::parse(text).map_err(|error| error.to_string())?;
    let mut unknown = Vec::new();
    let task = serde_ignored::deserialize(document, |path| unknown.push(key_path(&path)));
    let task: Task = task.map_err(|error| error.to_string())?;
    match unknown.first() {
        None => Ok(task),
        Some(key) => Err(format!("there is no key `{key}` in a task")),
    }
}

/// As people write it: what may be left out has no sign of its own.
fn key_path(path: &serde_ignored::Path<'_>) -> String {
    path.to_string().replace(".?", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_and_a_slip_of_the_pen_is_found() {
        let text = "description = \"all\"\n[[subtasks]]\nid = \"a\"\ndescription = \"x\"\n\
                    verification_steps = [{ type = \"command\", target = \"true\" }]\n\
                    [[subtasks]]\nid = \"b\"\ndescription = \"y\"\ndepends_on = [\"a\"]\n";
        let task = task_from_toml(text).unwrap();
        assert_eq!(task.subtasks[1].depends_on, ["a"]);
        let slip = text.replace("depends_on", "depend_on");
        assert_eq!(
            task_from_toml(&slip).unwrap_err(),
            "there is no key `subtasks.1.depend_on` in a task"
        );
        let (_, passed_over) =
            task_from_json(r#"{"description": "x", "budget": {"max_cost": 1}}"#).unwrap();
        assert_eq!(passed_over, ["budget.max_cost"]);
        let broken = task_from_toml("description = [1\n").unwrap_err();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
