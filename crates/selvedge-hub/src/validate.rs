//! Validation of submitted tasks: strict where it matters, with an error for each invalid field, and
//! otherwise as lenient as the older design.

mod subtasks;
#[cfg(test)]
mod tests;

use selvedge_core::config::nearest;
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::model::{ComplexityTier, Task};
use selvedge_core::repository::has_credentials;
use selvedge_core::route::{SHELL_AGENT, named_agents, requested_agent};
use selvedge_protocol::{FieldError, RESERVED_LABEL_PREFIX};
use serde_json::Value;

use crate::problem::ApiError;
use crate::settings::TaskDefaults;

/// The rule of [`is_valid_name`].
const NAME_RULE: &str = "must be 1 to 100 characters without control characters";
/// Maximum number of retries, whatever a task requests.
const MAX_RETRIES: u64 = 5;
/// Maximum size of one text of a task in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Maximum number of checks, labels or outputs of one task.
const MAX_ITEMS: usize = 200;
/// Maximum number of unknown fields that are listed in a response; the rest is only counted.
const MAX_UNKNOWN_FIELDS: usize = 20;
/// Maximum number of characters of an unknown field's path in a warning.
const MAX_PATH_CHARS: usize = 100;

/// A valid task, and warnings about changes that were made to it.
#[derive(Debug)]
pub(crate) struct ValidatedTask {
    pub(crate) task: Task,
    pub(crate) warnings: Vec<String>,
}

/// Parses and validates a task, and fills in the hub's defaults.
pub(crate) fn task(body: &[u8], defaults: &TaskDefaults) -> Result<ValidatedTask, ApiError> {
    let mut value: Value = serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("invalid JSON in the request body: {error}"))
    })?;
    let Value::Object(fields) = &mut value else {
        return Err(ApiError::bad_request(
            "the request body must be a JSON object (a task)",
        ));
    };
    let mut warnings = Vec::new();
    let mut errors = Vec::new();
    if let Some(retries) = fields.get_mut("max_verification_retries") {
        cap_retries("max_verification_retries", retries, &mut warnings);
    }
    if let Some(subtasks) = fields.get_mut("subtasks") {
        for (index, retries) in subtasks::retries(subtasks) {
            let field = format!("subtasks.{index}.max_verification_retries");
            cap_retries(&field, retries, &mut warnings);
        }
    }
    let mut unknown = Vec::new();
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(path.to_string());
    let reader = serde_ignored::Deserializer::new(value, &mut note);
    let mut task: Task = match serde_path_to_error::deserialize(reader) {
        Ok(task) => task,
        Err(error) => {
            let field = error.path().to_string();
            return Err(ApiError::field(&field, error.into_inner().to_string()));
        }
    };
    warnings.extend(unknown_fields(&unknown));
    if task.part_of.is_some() {
        errors.push(FieldError {
            field: "part_of".to_owned(),
            detail: "is set by the hub only".to_owned(),
        });
    }
    check(&task, defaults, &mut errors);
    if !errors.is_empty() {
        return Err(ApiError::fields(errors));
    }
    apply_defaults(&mut task, defaults);
    warnings.extend(apply_limits(&mut task, defaults));
    Ok(ValidatedTask { task, warnings })
}

/// Validates a task that the hub has stored, by the current rules, and applies the current limits; returns warnings
/// about changes that were made to it.
pub(crate) fn stored_task(
    task: &mut Task,
    defaults: &TaskDefaults,
) -> Result<Vec<String>, Vec<FieldError>> {
    let mut errors = Vec::new();
    check(task, defaults, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(apply_limits(task, defaults))
}

fn cap_retries(field: &str, retries: &mut Value, warnings: &mut Vec<String>) {
    if let Some(requested_retries) = retries
        .as_u64()
        .filter(|requested_retries| *requested_retries > MAX_RETRIES)
    {
        warnings.push(format!(
            "{field}: {requested_retries} exceeds the maximum; {MAX_RETRIES} is used"
        ));
        *retries = Value::from(MAX_RETRIES);
    }
}

/// Warns of unknown fields at any depth: a misspelt limit must not go unnoticed.
fn unknown_fields(paths: &[String]) -> Vec<String> {
    let warning = |path: &String| {
        // Optional fields have an additional `?` in the path.
        let path: String = path
            .replace(".?", "")
            .chars()
            .take(MAX_PATH_CHARS)
            .collect();
        format!("{path}: unknown field, ignored")
    };
    let mut warnings: Vec<String> = paths.iter().take(MAX_UNKNOWN_FIELDS).map(warning).collect();
    if let Some(more) = paths
        .len()
        .checked_sub(MAX_UNKNOWN_FIELDS)
        .filter(|more| *more > 0)
    {
        warnings.push(format!("{more} more unknown fields, ignored"));
    }
    warnings
}

fn check(task: &Task, defaults: &TaskDefaults, errors: &mut Vec<FieldError>) {
    let mut report_error = |field: &str, detail: String| {
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
        report_error("description", "must not be empty".to_owned());
    }
    let requested = requested_agent(task);
    if task.complexity_tier == Some(ComplexityTier::Trivial) && !shell && requested.is_none() {
        // As in the older design, the description of a trivial task is not a command.
        report_error(
            "command",
            "required for a trivial task, which is run by the shell".to_owned(),
        );
    }
    if requested == Some(SHELL_AGENT) && !shell && task.subtasks.is_empty() {
        report_error(
            "command",
            format!("required for the agent `{SHELL_AGENT}`, which runs it"),
        );
    }
    if task.repository.as_deref().is_some_and(has_credentials) {
        report_error(
            "repository",
            "must not contain a password: it would be stored and shown; workers clone with their own credentials"
                .to_owned(),
        );
    }
    if !task.subtasks.is_empty() {
        subtasks::check(task, defaults, &mut |field, detail| {
            report_error(field, detail);
        });
    }
    let is_allowed = |name: &str| defaults.agents.iter().any(|known| known == name);
    for (field, name) in named_agents(task) {
        if !is_allowed(name) {
            let known = defaults.agents.iter().map(String::as_str);
            let meant = nearest(name, known).map(|meant| format!(" (did you mean `{meant}`?)"));
            let all = defaults.agents.join(", ");
            report_error(
                field,
                format!(
                    "unknown agent `{name}`{}; allowed: {all}",
                    meant.unwrap_or_default()
                ),
            );
        }
    }
    let is_named = named_agents(task).next().is_some();
    if requested == Some(SHELL_AGENT) && !is_named && !is_allowed(SHELL_AGENT) {
        let all = defaults.agents.join(", ");
        report_error(
            "command",
            format!("needs the agent `{SHELL_AGENT}`, which is not allowed; allowed: {all}"),
        );
    }
    if task
        .verification_tier
        .is_some_and(|tier| !(1..=3).contains(&tier))
    {
        report_error("verification_tier", "must be 1, 2 or 3".to_owned());
    }
    if task.priority.is_some_and(|priority| priority > 9) {
        report_error("priority", "must be 0 to 9 (9 is the highest)".to_owned());
    }
    if task.verification_timeout_ms == Some(0) {
        report_error(
            "verification_timeout_ms",
            "must be greater than 0".to_owned(),
        );
    }
    for (index, step) in task.verification_steps.iter().flatten().enumerate() {
        if !defaults.checks.contains(&step.kind) {
            report_error(
                &format!("verification_steps.{index}.type"),
                format!(
                    "checks of type `{}` are not allowed on this hub",
                    step.kind.as_str()
                ),
            );
        }
        if step.kind.executes() && step.target.trim().is_empty() {
            report_error(
                &format!("verification_steps.{index}.target"),
                "must not be empty: the command to run".to_owned(),
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
        ("expect_test_changes", task.expect_test_changes.len()),
    ] {
        if count > MAX_ITEMS {
            report_error(
                field,
                format!("too many entries: {count}; the maximum is {MAX_ITEMS}"),
            );
        }
    }
    if let Err(bad) = ExpectedChanges::check(&task.expect_test_changes) {
        report_error("expect_test_changes", bad.to_string());
    }
    if task.description.len() > MAX_TEXT_BYTES {
        report_error(
            "description",
            format!(
                "too long: {} bytes; the maximum is {MAX_TEXT_BYTES}",
                task.description.len()
            ),
        );
    }
    if let Some(label) = task.labels.iter().find(|label| !is_valid_name(label)) {
        report_error("labels", format!("invalid label {label:?}: {NAME_RULE}"));
    }
    if let Some(label) = task
        .labels
        .iter()
        .find(|it| it.starts_with(RESERVED_LABEL_PREFIX))
    {
        report_error(
            "labels",
            format!("invalid label {label:?}: the prefix `{RESERVED_LABEL_PREFIX}` is reserved"),
        );
    }
}

/// The name of a new token, webhook or schedule.
pub(crate) fn requested_name(name: &str) -> Result<&str, ApiError> {
    let name = name.trim();
    if is_valid_name(name) {
        Ok(name)
    } else {
        Err(ApiError::field("name", NAME_RULE))
    }
}

fn is_valid_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= 100 && !name.contains(char::is_control)
}

fn apply_defaults(task: &mut Task, defaults: &TaskDefaults) {
    task.max_verification_retries
        .get_or_insert(defaults.max_verification_retries);
    if task.verification_tier.is_none() {
        task.verification_tier = defaults.verification_tier;
    }
    task.labels.sort();
    task.labels.dedup();
}

/// Applies the limits that no task may exceed; returns a warning if the task asked for more.
fn apply_limits(task: &mut Task, defaults: &TaskDefaults) -> Vec<String> {
    let Some(ceiling) = defaults.budget else {
        return Vec::new();
    };
    let requested = task.budget.unwrap_or_default();
    let granted = requested.within(ceiling);
    task.budget = Some(granted);
    let (Ok(Value::Object(requested)), Ok(granted)) = (
        serde_json::to_value(requested),
        serde_json::to_value(granted),
    ) else {
        return Vec::new();
    };
    // A limit that is absent gets the hub's without a warning.
    let reduced = requested
        .iter()
        .filter(|(limit, value)| granted[*limit] != **value);
    let warning = |(limit, value): (&String, &Value)| {
        let granted = &granted[limit];
        format!("budget.{limit}: {value} exceeds the hub's maximum; {granted} is used")
    };
    reduced.map(warning).collect()
}
