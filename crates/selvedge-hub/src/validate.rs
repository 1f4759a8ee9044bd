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
    let mut errors = FieldErrors::default();
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
        errors.add("part_of", "is set by the hub only");
    }
    check(&task, defaults, &mut errors);
    if !errors.0.is_empty() {
        return Err(ApiError::fields(errors.0));
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
    let mut errors = FieldErrors::default();
    check(task, defaults, &mut errors);
    if !errors.0.is_empty() {
        return Err(errors.0);
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

/// Invalid fields of a task, in the order in which they were found.
#[derive(Debug, Default)]
struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    fn add(&mut self, field: &str, detail: impl Into<String>) {
        self.0.push(FieldError {
            field: field.to_owned(),
            detail: detail.into(),
        });
    }
}

fn check(task: &Task, defaults: &TaskDefaults, errors: &mut FieldErrors) {
    check_command(task, errors);
    if task.repository.as_deref().is_some_and(has_credentials) {
        errors.add(
            "repository",
            "must not contain a password: it would be stored and shown; workers clone with their own credentials",
        );
    }
    if !task.subtasks.is_empty() {
        subtasks::check(task, defaults, errors);
    }
    check_agents(task, defaults, errors);
    check_numbers(task, errors);
    check_steps(task, defaults, errors);
    check_sizes(task, errors);
    if let Err(bad) = ExpectedChanges::check(&task.expect_test_changes) {
        errors.add("expect_test_changes", bad.to_string());
    }
    if let Some(label) = task.labels.iter().find(|label| !is_valid_name(label)) {
        errors.add("labels", format!("invalid label {label:?}: {NAME_RULE}"));
    }
    let is_reserved = |label: &&String| label.starts_with(RESERVED_LABEL_PREFIX);
    if let Some(label) = task.labels.iter().find(is_reserved) {
        errors.add(
            "labels",
            format!("invalid label {label:?}: the prefix `{RESERVED_LABEL_PREFIX}` is reserved"),
        );
    }
}

/// A task has something to do: a description for an agent, a command for the shell, or subtasks.
fn check_command(task: &Task, errors: &mut FieldErrors) {
    let command = task.command.as_deref().unwrap_or_default();
    let has_command = !command.trim().is_empty();
    if task.description.trim().is_empty() && !has_command && task.subtasks.is_empty() {
        errors.add("description", "must not be empty");
    }
    let requested = requested_agent(task);
    let is_trivial = task.complexity_tier == Some(ComplexityTier::Trivial);
    if is_trivial && !has_command && requested.is_none() {
        // As in the older design, the description of a trivial task is not a command.
        errors.add(
            "command",
            "required for a trivial task, which is run by the shell",
        );
    }
    if requested == Some(SHELL_AGENT) && !has_command && task.subtasks.is_empty() {
        errors.add(
            "command",
            format!("required for the agent `{SHELL_AGENT}`, which runs it"),
        );
    }
}

fn check_agents(task: &Task, defaults: &TaskDefaults, errors: &mut FieldErrors) {
    let is_allowed = |name: &str| defaults.agents.iter().any(|known| known == name);
    let all = defaults.agents.join(", ");
    for (field, name) in named_agents(task).filter(|(_, name)| !is_allowed(name)) {
        let known = defaults.agents.iter().map(String::as_str);
        let meant = nearest(name, known).map(|meant| format!(" (did you mean `{meant}`?)"));
        let meant = meant.unwrap_or_default();
        errors.add(
            field,
            format!("unknown agent `{name}`{meant}; allowed: {all}"),
        );
    }
    let is_named = named_agents(task).next().is_some();
    if requested_agent(task) == Some(SHELL_AGENT) && !is_named && !is_allowed(SHELL_AGENT) {
        errors.add(
            "command",
            format!("needs the agent `{SHELL_AGENT}`, which is not allowed; allowed: {all}"),
        );
    }
}

fn check_numbers(task: &Task, errors: &mut FieldErrors) {
    let is_tier = |tier: u8| (1..=3).contains(&tier);
    if task.verification_tier.is_some_and(|tier| !is_tier(tier)) {
        errors.add("verification_tier", "must be 1, 2 or 3");
    }
    if task.priority.is_some_and(|priority| priority > 9) {
        errors.add("priority", "must be 0 to 9 (9 is the highest)");
    }
    if task.verification_timeout_ms == Some(0) {
        errors.add("verification_timeout_ms", "must be greater than 0");
    }
}

fn check_steps(task: &Task, defaults: &TaskDefaults, errors: &mut FieldErrors) {
    for (index, step) in task.verification_steps.iter().flatten().enumerate() {
        if !defaults.checks.contains(&step.kind) {
            let kind = step.kind.as_str();
            errors.add(
                &format!("verification_steps.{index}.type"),
                format!("checks of type `{kind}` are not allowed on this hub"),
            );
        }
        if step.kind.executes() && step.target.trim().is_empty() {
            errors.add(
                &format!("verification_steps.{index}.target"),
                "must not be empty: the command to run",
            );
        }
    }
}

fn check_sizes(task: &Task, errors: &mut FieldErrors) {
    let steps = task.verification_steps.as_ref().map_or(0, Vec::len);
    for (field, count) in [
        ("verification_steps", steps),
        ("labels", task.labels.len()),
        ("expected_outputs", task.expected_outputs.len()),
        ("expect_test_changes", task.expect_test_changes.len()),
    ] {
        if count > MAX_ITEMS {
            errors.add(
                field,
                format!("too many entries: {count}; the maximum is {MAX_ITEMS}"),
            );
        }
    }
    let length = task.description.len();
    if length > MAX_TEXT_BYTES {
        errors.add(
            "description",
            format!("too long: {length} bytes; the maximum is {MAX_TEXT_BYTES}"),
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
