//! Redaction of JSON values and events, text by text. Keys are not changed: they are our own names.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Redactor;
use crate::model::{Event, RunSpec};

/// The field with a check's command line, in reports and specifications. It is not redacted: no run begins if its
/// commands contain a secret.
const COMMAND_FIELD: &str = "target";

/// A redacted event would be invalid: a secret is in a place where the format requires a fixed value.
#[derive(Debug, thiserror::Error)]
#[error("a secret cannot be redacted from a journal event: it equals a fixed value of the format")]
pub struct RedactError;

impl Redactor {
    /// Redacts all texts of a value, except the command lines of checks.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let std::borrow::Cow::Owned(redacted) = self.redact_text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                let others = fields.iter_mut().filter(|(name, _)| *name != COMMAND_FIELD);
                others.for_each(|(_, field)| self.redact_value(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts an event. In a run's specification only prose is redacted: the rest is executed unchanged.
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

    /// Redacts any other record that can be deserialized after serialization.
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

    /// Redacts the prose of a specification.
    fn redact_spec(&self, spec: &mut RunSpec) {
        spec.description = self.redact_text(&spec.description).into_owned();
        if let Some(criteria) = &mut spec.acceptance_criteria {
            *criteria = self.redact_text(criteria).into_owned();
        }
    }
}
