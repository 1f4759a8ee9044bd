//! Reading foreign records field by field: any may be missing or of another type without harm to
//! the others, and what is not named in a record's type is skipped without being stored.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// A field's value if it is of the expected type, else the type's default.
pub(in crate::agents) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}
