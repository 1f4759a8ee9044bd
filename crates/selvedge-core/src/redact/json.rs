//! Values of JSON, and events, redacted text by text. Keys stay: they are names of ours.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Redactor;
use crate::model::{Event, RunSpec};

/// The command line by which a check is known, in reports as in specifications: no run begins whose
/// commands hold a secret.
const EXECUTED: &str = "target";

/// An event that is none any more when a secret is taken out of it: the secret stands where a word of
/// ours must stand.
#[derive(Debug, thiserror::Error)]
#[error("a secret cannot be taken out of what is to be journalled: it is one of its own words")]
pub struct Unredactable;

impl Redactor {
    /// Redacts every text of a value, but for the command lines of checks.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let std::borrow::Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let told = fields.iter_mut().filter(|(name, _)| *name != EXECUTED);
                told.for_each(|(_, field)| self.value(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts an event. Of a run's specification only what it says in words: the rest is executed as it
    /// stands.
    ///
    /// # Errors
    ///
    /// [`Unredactable`].
    pub fn event(&self, mut event: Event) -> Result<Event, Unredactable> {
        let described = match &mut event {
            Event::RunCreated { spec } => vec![spec.as_mut()],
            Event::PlanCreated { plan } => {
                plan.description = self.text(&plan.description).into_owned();
                plan.subtasks
                    .iter_mut()
                    .map(|part| &mut part.spec)
                    .collect()
            }
            _ => Vec::new(),
        };
        if !described.is_empty() {
            for spec in described {
                self.describe(spec);
            }
            return Ok(event);
        }
        let (kind, mut data) = event.to_parts().map_err(|_| Unredactable)?;
        let before = data.clone();
        self.value(&mut data);
        if data == before {
            return Ok(event);
        }
        let known = !matches!(event, Event::Unknown { .. });
        match Event::from_parts(kind, data) {
            Event::Unknown { .. } if known => Err(Unredactable),
            event => Ok(event),
        }
    }

    /// Redacts anything else that reads back as it was written.
    ///
    /// # Errors
    ///
    /// [`Unredactable`].
    pub fn record<T: Serialize + DeserializeOwned>(&self, record: T) -> Result<T, Unredactable> {
        let before = serde_json::to_value(&record).map_err(|_| Unredactable)?;
        let mut after = before.clone();
        self.value(&mut after);
        if after == before {
            return Ok(record);
        }
        serde_json::from_value(after).map_err(|_| Unredactable)
    }

    /// Redacts what a specification says in words.
    fn describe(&self, spec: &mut RunSpec) {
        spec.description = self.text(&spec.description).into_owned();
        if let Some(criteria) = &mut spec.acceptance_criteria {
            *criteria = self.text(criteria).into_owned();
        }
    }
}
