//! TOML as settings. Entries of arrays of tables are told apart by their names.

use super::json::flatten;
use super::settings::Settings;

/// `None` for text that is no TOML.
pub(super) fn read(text: &str) -> Option<Settings> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let value = serde_json::to_value(table).ok()?;
    let mut settings = Settings::new();
    flatten("", &value, &mut settings);
    Some(settings)
}
