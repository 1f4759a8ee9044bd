//! Values that are stored as text: ids, times, one-word enums. Text that cannot be parsed means a damaged
//! journal.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::types::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

pub(super) fn parsed<T: FromStr>(text: &str) -> Result<T, StoreError> {
    text.parse()
        .map_err(|_| damaged(&format_args!("unexpected {text:?}")))
}

/// A one-word enum in its wire format; anything else becomes NULL, which such a column rejects.
pub(super) fn word(value: impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Value::Text(word),
        _ => Value::Null,
    }
}

pub(super) fn from_word<T: DeserializeOwned>(word: String) -> Result<T, StoreError> {
    serde_json::from_value(serde_json::Value::String(word)).map_err(|error| damaged(&error))
}

pub(super) fn damaged(reason: &dyn Display) -> StoreError {
    StoreError::Damaged(reason.to_string())
}
