//! Lenient deserialization of records: any field may be missing or of another type without
//! affecting the others, and fields that a record's type does not declare are skipped without being
//! stored.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// An error with its message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::agents) struct ErrorMessage {
    #[serde(deserialize_with = "lenient")]
    pub(in crate::agents) message: String,
}

/// Returns a field's value if it has the expected type, otherwise the type's default.
pub(in crate::agents) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}
