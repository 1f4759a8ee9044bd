//! A task from a file: plain text, a task object in JSON as on the wire, or one in TOML, as people write
//! plans.

use std::io::Read;
use std::path::Path;

use selvedge_core::model::Task;

use crate::error::CliError;

/// A task larger than this is no task.
const LARGEST_TASK: u64 = 1 << 20;

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
            .take(LARGEST_TASK + 1)
            .read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
        file.take(LARGEST_TASK + 1).read_to_string(&mut text)
    };
    let length = read.map_err(|error| failed(&error))?;
    if length as u64 > LARGEST_TASK {
        return Err(failed(&"it is larger than 1 MiB"));
    }
    if path.extension().is_some_and(|it| it == "toml") {
        return from_toml(&text).map_err(|error| failed(&error));
    }
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&text).map_err(|error| failed(&error));
    }
    Ok(Task {
        description: text.trim_end().to_owned(),
        ..Task::default()
    })
}

/// Written by hand, so a key that means nothing is a mistake: a `depend_on` must not be passed over as
/// the wire passes over what it does not know.
fn from_toml(text: &str) -> Result<Task, String> {
    let document = toml::Deserializer::parse(text).map_err(|error| error.to_string())?;
    let mut unknown = Vec::new();
    let task = serde_ignored::deserialize(document, |path| unknown.push(path.to_string()));
    let task: Task = task.map_err(|error| error.to_string())?;
    match unknown.first() {
        None => Ok(task),
        Some(key) => Err(format!("there is no key `{key}` in a task")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_and_a_slip_of_the_pen_is_found() {
        let text = "description = \"all\"\n[[subtasks]]\nid = \"a\"\ndescription = \"x\"\n\
                    verification_steps = [{ type = \"command\", target = \"true\" }]\n\
                    [[subtasks]]\nid = \"b\"\ndescription = \"y\"\ndepends_on = [\"a\"]\n";
        let task = from_toml(text).unwrap();
        assert_eq!(task.subtasks[1].depends_on, ["a"]);
        let slip = text.replace("depends_on", "depend_on");
        assert_eq!(
            from_toml(&slip).unwrap_err(),
            "there is no key `subtasks.1.depend_on` in a task"
        );
        let broken = from_toml("description = [1\n").unwrap_err();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
