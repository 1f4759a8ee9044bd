//! Selects the model and the reasoning effort from the options that an agent offers for a session.
//! An agent without options takes its model from its own arguments and settings.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionId,
    SetSessionConfigOptionRequest,
};
use serde_json::Value;

/// The agent does not offer this model or effort.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent has no {option} `{requested}`; it offers {}", offered.join(", "))]
pub(super) struct UnsupportedOptionError {
    option: String,
    requested: String,
    offered: Vec<String>,
}

/// The option to request; `None` if the agent offers no options.
pub(super) fn select_option(
    session: &SessionId,
    options: &[SessionConfigOption],
    category: &SessionConfigOptionCategory,
    wanted: &str,
) -> Result<Option<SetSessionConfigOptionRequest>, UnsupportedOptionError> {
    let is_meant = |option: &&SessionConfigOption| option.category.as_ref() == Some(category);
    let Some(option) = options.iter().find(is_meant) else {
        return Ok(None);
    };
    let mut offered = Vec::new();
    collect_values(
        &serde_json::to_value(&option.kind).unwrap_or_default(),
        &mut offered,
    );
    if !offered.iter().any(|value| value == wanted) {
        let wanted = wanted.to_owned();
        let what = option.name.to_lowercase();
        return Err(UnsupportedOptionError {
            option: what,
            requested: wanted,
            offered,
        });
    }
    let value = SessionConfigOptionValue::value_id(wanted.to_owned());
    let request = SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), value);
    Ok(Some(request))
}

/// Collects the values of an option, which may be grouped.
fn collect_values(choice: &Value, found: &mut Vec<String>) {
    let Some(options) = choice.get("options").and_then(Value::as_array) else {
        return;
    };
    for option in options {
        found.extend(
            option
                .get("value")
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
        collect_values(option, found);
    }
}
