//! What a submitted task must be: read strictly where it matters, with an error for each field, and
//! lenient as the older design was where it does not.

mod subtasks;

use selvedge_core::config::nearest;
use selvedge_core::fleet::{FieldError, OWN_LABELS};
use selvedge_core::model::{ComplexityTier, Task};
use serde_json::Value;

use crate::problem::Refused;
use crate::settings::Defaults;

/// No more than this, whatever is asked for.
const MOST_RETRIES: u64 = 5;
/// Bytes of one text of a task.
const LONGEST: usize = 256 * 1024;
/// Checks, labels, outputs of one task.
const MOST: usize = 200;

/// A task that may be taken in, and what was changed about it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) task: Task,
    pub(crate) warnings: Vec<String>,
}

/// Reads and checks a task, and fills in what the hub says where the task says nothing.
pub(crate) fn task(body: &[u8], defaults: &Defaults) -> Result<Checked, Refused> {
    let mut value: Value = serde_json::from_slice(body).map_err(|error| {
        Refused::bad_request(format!("the body is no JSON that can be read: {error}"))
    })?;
    let Value::Object(fields) = &mut value else {
        return Err(Refused::bad_request(
            "the body must be a JSON object: a task",
        ));
    };
    let mut warnings = Vec::new();
    let mut errors = Vec::new();
    if let Some(retries) = fields.get_mut("max_verification_retries") {
        cap("max_verification_retries", retries, &mut warnings);
    }
    if let Some(subtasks) = fields.get_mut("subtasks") {
        for (index, retries) in subtasks::retries(subtasks) {
            let field = format!("subtasks.{index}.max_verification_retries");
            cap(&field, retries, &mut warnings);
        }
    }
    let mut task: Task = match serde_path_to_error::deserialize(value) {
        Ok(task) => task,
        Err(error) => {
            let field = error.path().to_string();
            return Err(Refused::field(&field, error.into_inner().to_string()));
        }
    };
    check(&task, defaults, &mut errors);
    if !errors.is_empty() {
        return Err(Refused::fields(errors));
    }
    fill(&mut task, defaults);
    Ok(Checked { task, warnings })
}

fn cap(field: &str, retries: &mut Value, warnings: &mut Vec<String>) {
    if let Some(asked) = retries.as_u64().filter(|asked| *asked > MOST_RETRIES) {
        warnings.push(format!(
            "{field}: {asked} is more than the cap of {MOST_RETRIES}, which holds"
        ));
        *retries = Value::from(MOST_RETRIES);
    }
}

fn check(task: &Task, defaults: &Defaults, errors: &mut Vec<FieldError>) {
    let mut wrong = |field: &str, detail: String| {
        errors.push(FieldError {
            field: field.to_owned(),
            detail,
        });
    };
    let shell = task
        .command
        .as_deref()
        .is_some_and(|command| !command.trim().is_empty());
    if task.description.trim().is_empty() && !shell && task.subtasks.is_empty() {
        wrong(
            "description",
            "says nothing: what is to be done?".to_owned(),
        );
    }
    if task.complexity_tier == Some(ComplexityTier::Trivial) && !shell && named(task).is_none() {
        // As the older design had it: the description of a trivial task is no command.
        wrong(
            "command",
            "a trivial task is run by the shell, and needs a `command`".to_owned(),
        );
    }
    if task.part_of.is_some() {
        wrong("part_of", "is the hub's to say".to_owned());
    }
    if !task.subtasks.is_empty() {
        subtasks::check(task, defaults, &mut |field, detail| wrong(field, detail));
    }
    for (field, name) in agents(task) {
        if !defaults.agents.iter().any(|known| known == name) {
            let known = defaults.agents.iter().map(String::as_str);
            let meant = nearest(name, known).map(|meant| format!(" (did you mean `{meant}`?)"));
            let all = defaults.agents.join(", ");
            wrong(
                field,
                format!(
                    "no agent is called `{name}`{}; allowed are {all}",
                    meant.unwrap_or_default()
                ),
            );
        }
    }
    let is_allowed = |name: &str| defaults.agents.iter().any(|known| known == name);
    if task.complexity_tier == Some(ComplexityTier::Trivial)
        && shell
        && named(task).is_none()
        && !is_allowed("shell")
    {
        let all = defaults.agents.join(", ");
        wrong(
            "command",
            format!("would be run by the agent `shell`; allowed are {all}"),
        );
    }
    if task
        .verification_tier
        .is_some_and(|tier| !(1..=3).contains(&tier))
    {
        wrong("verification_tier", "is 1, 2 or 3".to_owned());
    }
    if task.priority.is_some_and(|priority| priority > 9) {
        wrong("priority", "is 0 to 9, the highest first".to_owned());
    }
    if task.verification_timeout_ms == Some(0) {
        wrong("verification_timeout_ms", "must be more than 0".to_owned());
    }
    for (index, step) in task.verification_steps.iter().flatten().enumerate() {
        if !defaults.checks.contains(&step.kind) {
            wrong(
                &format!("verification_steps.{index}.type"),
                format!(
                    "this hub takes no checks of the kind `{}`",
                    step.kind.as_str()
                ),
            );
        }
        if step.kind.executes() && step.target.trim().is_empty() {
            wrong(
                &format!("verification_steps.{index}.target"),
                "is empty: which command?".to_owned(),
            );
        }
    }
    for (field, count) in [
        (
            "verification_steps",
            task.verification_steps.as_ref().map_or(0, Vec::len),
        ),
        ("labels", task.labels.len()),
        ("expected_outputs", task.expected_outputs.len()),
    ] {
        if count > MOST {
            wrong(field, format!("{count} are more than {MOST}"));
        }
    }
    if task.description.len() > LONGEST {
        wrong(
            "description",
            format!("{} bytes are more than {LONGEST}", task.description.len()),
        );
    }
    let odd =
        |label: &&String| label.is_empty() || label.len() > 100 || label.contains(char::is_control);
    if let Some(label) = task.labels.iter().find(odd) {
        wrong(
            "labels",
            format!("{label:?} is no label: 1 to 100 characters, none of control"),
        );
    }
    if let Some(label) = task.labels.iter().find(|it| it.starts_with(OWN_LABELS)) {
        wrong("labels", format!("{label:?} is a label of the hub's own"));
    }
}

/// The agent that a task names: first its own word, then the older design's.
pub(crate) fn named(task: &Task) -> Option<&str> {
    agents(task).map(|(_, name)| name).next()
}

fn agents(task: &Task) -> impl Iterator<Item = (&'static str, &str)> {
    let own = task.agent.as_deref().map(|name| ("agent", name));
    let decided = task.routing_decision.as_ref();
    let decided = decided.map(|to| ("routing_decision.target_type", to.target_type.as_str()));
    let all = own.into_iter().chain(decided);
    all.map(|(field, name)| (field, name.trim()))
        .filter(|(_, name)| !name.is_empty())
}

fn fill(task: &mut Task, defaults: &Defaults) {
    task.max_verification_retries
        .get_or_insert(defaults.max_verification_retries);
    if task.verification_tier.is_none() {
        task.verification_tier = defaults.verification_tier;
    }
    if task.budget.is_none() {
        task.budget.clone_from(&defaults.budget);
    }
    task.labels.sort();
    task.labels.dedup();
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use serde_json::json;

    use super::*;

    fn fields(asked: &Value) -> Vec<String> {
        let refused = task(asked.to_string().as_bytes(), &Defaults::default()).unwrap_err();
        let response = refused.into_response();
        let body = axum::body::to_bytes(response.into_body(), 100_000);
        let body = futures_util::FutureExt::now_or_never(body)
            .unwrap()
            .unwrap();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        errors
            .iter()
            .map(|error| error["field"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_is_wrong_is_named_by_field() {
        assert_eq!(fields(&json!({})), ["description"]);
        assert_eq!(
            fields(&json!({"description": "x", "routing_decision": {"target_type": "clode"}})),
            ["routing_decision.target_type"]
        );
        for retries in [json!("many"), json!(-1), json!(1.5)] {
            let odd = json!({"description": "x", "max_verification_retries": retries});
            assert_eq!(fields(&odd), ["max_verification_retries"]);
        }
        let odd = json!({"description": "x", "verification_timeout_ms": -5});
        assert_eq!(fields(&odd), ["verification_timeout_ms"]);
        let odd = json!({"description": "x", "verification_steps": [
            {"type": "command", "target": "true"}, {"type": "horoscope", "target": "x"}]});
        assert_eq!(fields(&odd), ["verification_steps[1].type"]);
        let odd = json!({"description": "x", "labels": ["selvedge:plan"],
            "priority": 10, "verification_tier": 4, "agent": "nobody"});
        assert_eq!(
            fields(&odd),
            ["agent", "verification_tier", "priority", "labels"]
        );
    }

    #[test]
    fn subtasks_are_held_to_be_tasks_and_a_plan() {
        let subtask = |id: &str, needs: &str, more: Value| {
            let mut subtask = json!({"id": id, "description": "y", "depends_on": [needs]});
            if let (Value::Object(subtask), Value::Object(more)) = (&mut subtask, more) {
                subtask.extend(more);
            }
            subtask
        };
        let plan = |subtasks: Vec<Value>| fields(&json!({"subtasks": subtasks}));
        let (nothing, a) = (json!({}), json!({"id": "a", "description": "y"}));
        assert_eq!(
            plan(vec![a.clone(), subtask("b", "c", nothing.clone())]),
            ["subtasks.1.depends_on"]
        );
        assert_eq!(
            plan(vec![
                subtask("a", "b", nothing.clone()),
                subtask("b", "a", nothing.clone())
            ]),
            ["subtasks"]
        );
        assert_eq!(plan(vec![a.clone(), a.clone()]), ["subtasks.1.id"]);
        assert_eq!(plan(vec![json!({"id": "a"})]), ["subtasks.0.description"]);
        let odd = json!({"agent": "nobody", "verification_tier": 7,
            "verification_steps": [{"type": "command", "target": " "}]});
        assert_eq!(
            plan(vec![a.clone(), subtask("b", "a", odd)]),
            [
                "subtasks.1.agent",
                "subtasks.1.verification_tier",
                "subtasks.1.verification_steps.0.target"
            ]
        );
        let of_another = json!({"subtasks": [a], "command": "make",
            "part_of": {"parent_task_id": uuid::Uuid::nil(), "subtask": "x"}});
        assert_eq!(fields(&of_another), ["part_of", "command"]);
        let eager =
            json!({"subtasks": [{"id": "a", "description": "y", "max_verification_retries": 9}]});
        let eager = task(eager.to_string().as_bytes(), &Defaults::default()).unwrap();
        assert_eq!(eager.task.subtasks[0].max_verification_retries, Some(5));
        assert!(
            eager.warnings[0].starts_with("subtasks.0."),
            "{:?}",
            eager.warnings
        );
    }

    #[test]
    fn the_older_form_works_and_more_retries_than_the_cap_are_capped_with_a_warning() {
        let older = json!({
            "description": "Fix it", "verification_steps": [{"type": "command", "target": "make"}],
            "max_verification_retries": 99, "skip_verification": false,
            "verification_timeout_ms": 1000, "complexity_tier": "standard",
            "routing_decision": {"target_type": "claude"}, "something_new": {"deep": [1]},
        });
        let checked = task(older.to_string().as_bytes(), &Defaults::default()).unwrap();
        assert_eq!(checked.task.max_verification_retries, Some(5));
        assert_eq!(named(&checked.task), Some("claude"));
        assert!(
            checked.warnings[0].contains("cap of 5"),
            "{:?}",
            checked.warnings
        );
        let quiet = json!({"description": "x"});
        let quiet = task(quiet.to_string().as_bytes(), &Defaults::default()).unwrap();
        assert_eq!(quiet.task.max_verification_retries, Some(0), "opt-in");
        assert!(quiet.warnings.is_empty());
    }

    #[test]
    fn deep_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"description": "x", "metadata": {{"a": {deep}}}}}"#);
        let refused = task(body.as_bytes(), &Defaults::default()).unwrap_err();
        assert_eq!(refused.into_response().status(), 400);
    }
}
