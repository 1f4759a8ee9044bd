//! Values of JSON, and events, redacted text by text. Keys stay: they are names of ours.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Redactor;
use crate::model::{Event, RunSpec};

/// The command line by which a check is known, in reports as in specifications: no run begins whose
/// commands hold a secret.
const COMMAND_FIELD: &str = "target";

/// An event that is none any more when a secret is taken out of it: the secret stands where a word of
/// ours must stand.
#[derive(Debug, thiserror::Error)]
#[error("a secret cannot be taken out of what is to be journalled: it is one of its own words")]
pub struct RedactError;

impl Redactor {
    /// Redacts every text of a value, but for the command lines of checks.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let std::borrow::Cow::Owned(redacted) = self.redact_text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                let told = fields.iter_mut().filter(|(name, _)| *name != COMMAND_FIELD);
                told.for_each(|(_, field)| self.redact_value(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts an event. Of a run's specification only what it says in words: the rest is executed as it
    /// stands.
    ///
    /// # Errors
    ///
    /// [`RedactError`].
    pub fn redact_event(&self, mut event: Event) -> Result<Event, RedactError> {
        let described = match &mut event {
            Event::RunCreated { spec } => vec![spec.as_mut()],
            Event::PlanCreated { plan } => {
                plan.description = self.redact_text(&plan.description).into_owned();
                plan.subtasks
                    .iter_mut()
                    .map(|part| &mut part.spec)
                    .collect()
            }
            _ => Vec::new(),
        };
        if !described.is_empty() {
            for spec in described {
                self.redact_spec(spec);
            }
            return Ok(event);
        }
        let (kind, mut data) = event.to_parts().map_err(|_| RedactError)?;
        let before = data.clone();
        self.redact_value(&mut data);
        if data == before {
            return Ok(event);
        }
        let known = !matches!(event, Event::Unknown { .. });
        match Event::from_parts(kind, data) {
            Event::Unknown { .. } if known => Err(RedactError),
            event => Ok(event),
        }
    }

    /// Redacts anything else that reads back as it was written.
    ///
    /// # Errors
    ///
    /// [`RedactError`].
    pub fn redact_record<T: Serialize + DeserializeOwned>(
        &self,
        record: T,
    ) -> Result<T, RedactError> {
        let before = serde_json::to_value(&record).map_err(|_| RedactError)?;
        let mut after = before.clone();
        self.redact_value(&mut after);
        if after == before {
            return Ok(record);
        }
        serde_json::from_value(after).map_err(|_| RedactError)
    }

    /// Redacts what a specification says in words.
    fn redact_spec(&self, spec: &mut RunSpec) {
        spec.description = self.redact_text(&spec.description).into_owned();
        if let Some(criteria) = &mut spec.acceptance_criteria {
            *criteria = self.redact_text(criteria).into_owned();
        }
    }
}
