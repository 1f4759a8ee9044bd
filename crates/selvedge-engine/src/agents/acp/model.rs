//! Selects the model, the reasoning effort and the mode among those that an agent offers for a session:
//! as options of its configuration, or, from agents that follow an earlier draft of the protocol, as a
//! list of models.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionId,
    SetSessionConfigOptionRequest,
};
use serde::Deserialize;
use serde_json::Value;

use crate::agents::jsonl::lenient;

/// The agent cannot work with the configured model or effort.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnsupportedOptionError {
    #[error("the agent has no {option} `{requested}`; it offers {}", offered.join(", "))]
    NotOffered {
        option: &'static str,
        requested: String,
        offered: Vec<String>,
    },
    #[error(
        "the agent offers no choice of {option}, so `{requested}` cannot be requested; remove `{key}` from its \
         settings and select it in the program's own settings or arguments"
    )]
    NoChoice {
        option: &'static str,
        key: &'static str,
        requested: String,
    },
}

/// A list of models, as `session/new` returns it and `session/set_model` expects it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OfferedModels {
    #[serde(deserialize_with = "lenient")]
    available_models: Vec<OfferedModel>,
    #[serde(deserialize_with = "lenient")]
    current_model_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OfferedModel {
    #[serde(deserialize_with = "lenient")]
    model_id: String,
    #[serde(deserialize_with = "lenient")]
    name: String,
}

/// How to get the requested value.
#[derive(Debug, PartialEq)]
pub(super) enum OptionRequest {
    /// It is the current one.
    None,
    /// By `session/set_config_option`.
    Option(SetSessionConfigOptionRequest),
    /// By `session/set_model`, with this id.
    Model(String),
}

/// Selects the model.
pub(super) fn select_model(
    session: &SessionId,
    options: &[SessionConfigOption],
    models: Option<&OfferedModels>,
    wanted: &str,
) -> Result<OptionRequest, UnsupportedOptionError> {
    const NAME: &str = "model";
    if let Some(option) = find_option(options, &SessionConfigOptionCategory::Model) {
        let offered = OfferedValues::of_option(option);
        return Ok(match offered.find(NAME, wanted)? {
            None => OptionRequest::None,
            Some(value) => OptionRequest::Option(option_request(session, option, value)),
        });
    }
    let Some(models) = models.filter(|models| !models.available_models.is_empty()) else {
        return Err(no_choice(NAME, NAME, wanted));
    };
    let found = OfferedValues::of_models(models).find(NAME, wanted)?;
    Ok(found.map_or(OptionRequest::None, OptionRequest::Model))
}

/// Selects the reasoning effort.
pub(super) fn select_effort(
    session: &SessionId,
    options: &[SessionConfigOption],
    wanted: &str,
) -> Result<OptionRequest, UnsupportedOptionError> {
    const NAME: &str = "reasoning effort";
    let Some(option) = find_option(options, &SessionConfigOptionCategory::ThoughtLevel) else {
        return Err(no_choice(NAME, "effort", wanted));
    };
    Ok(match OfferedValues::of_option(option).find(NAME, wanted)? {
        None => OptionRequest::None,
        Some(value) => OptionRequest::Option(option_request(session, option, value)),
    })
}

/// The request for the first of these modes that is offered as an option.
pub(super) fn select_mode_option(
    session: &SessionId,
    options: &[SessionConfigOption],
    preferred: &[&str],
) -> Option<SetSessionConfigOptionRequest> {
    let option = find_option(options, &SessionConfigOptionCategory::Mode)?;
    let offered = OfferedValues::of_option(option);
    let mut found = preferred
        .iter()
        .filter_map(|mode| offered.find("mode", mode).ok());
    found
        .next()?
        .map(|value| option_request(session, option, value))
}

/// Whether a mode's id has this name. Some agents use URLs with the name as their fragment.
pub(super) fn is_mode(id: &str, name: &str) -> bool {
    id == name
        || id
            .rsplit_once('#')
            .is_some_and(|(_, fragment)| fragment == name)
}

fn no_choice(option: &'static str, key: &'static str, wanted: &str) -> UnsupportedOptionError {
    UnsupportedOptionError::NoChoice {
        option,
        key,
        requested: wanted.to_owned(),
    }
}

fn find_option<'a>(
    options: &'a [SessionConfigOption],
    category: &SessionConfigOptionCategory,
) -> Option<&'a SessionConfigOption> {
    options
        .iter()
        .find(|option| option.category.as_ref() == Some(category))
}

fn option_request(
    session: &SessionId,
    option: &SessionConfigOption,
    value: String,
) -> SetSessionConfigOptionRequest {
    let value = SessionConfigOptionValue::value_id(value);
    SetSessionConfigOptionRequest::new(session.clone(), option.id.clone(), value)
}

/// The values of an option with their names, and the current one.
struct OfferedValues {
    values: Vec<(String, String)>,
    current: String,
}

impl OfferedValues {
    fn of_option(option: &SessionConfigOption) -> Self {
        let choice = serde_json::to_value(&option.kind).unwrap_or_default();
        let mut values = Vec::new();
        collect_values(&choice, &mut values);
        Self {
            values,
            current: text_of(&choice, "currentValue"),
        }
    }

    fn of_models(models: &OfferedModels) -> Self {
        let values = models.available_models.iter();
        Self {
            values: values
                .map(|model| (model.model_id.clone(), model.name.clone()))
                .collect(),
            current: models.current_model_id.clone(),
        }
    }

    /// The value to request, by the value or its name; `None` if it is the current one.
    fn find(
        &self,
        option: &'static str,
        wanted: &str,
    ) -> Result<Option<String>, UnsupportedOptionError> {
        let is_wanted =
            |(value, name): &&(String, String)| is_mode(value, wanted) || name == wanted;
        match self.values.iter().find(is_wanted) {
            Some((value, _)) if *value == self.current => Ok(None),
            Some((value, _)) => Ok(Some(value.clone())),
            None if self.current == wanted => Ok(None),
            None => Err(UnsupportedOptionError::NotOffered {
                option,
                requested: wanted.to_owned(),
                offered: self.values.iter().map(|(value, _)| value.clone()).collect(),
            }),
        }
    }
}

/// Collects the values of an option, which may be grouped.
fn collect_values(choice: &Value, found: &mut Vec<(String, String)>) {
    let Some(options) = choice.get("options").and_then(Value::as_array) else {
        return;
    };
    for option in options {
        if option.get("value").is_some() {
            found.push((text_of(option, "value"), text_of(option, "name")));
        }
        collect_values(option, found);
    }
}

fn text_of(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
