//! Restricts the `[sandbox]` settings of a repository's own file: the sandbox also protects against the repository's
//! content, so the file may tighten it but not loosen it.

use super::diagnostic::{ConfigError, Diagnostic};
use super::key::SettingKey;
use super::tree::{ConfigNode, ConfigValue};

/// The keys of `[sandbox]`.
const SANDBOX_KEYS: &[&str] = &[
    "backend",
    "required",
    "agents",
    "checks",
    "writable",
    "grants",
    "image",
    "engine_args",
    "container_args",
];

/// Rejects settings that would loosen the sandbox.
pub(super) fn check_sandbox_keys(layer: &ConfigNode) -> Result<(), ConfigError> {
    let Some(ConfigValue::Table(keys)) = layer
        .at(&SettingKey::dotted("sandbox"))
        .map(|node| &node.value)
    else {
        return Ok(());
    };
    for (name, node) in keys {
        let value = node.to_toml();
        let narrows = match name.as_str() {
            "required" => value.as_bool() == Some(true),
            "agents" | "checks" => value.as_str() == Some("strict"),
            _ => false,
        };
        if SANDBOX_KEYS.contains(&name.as_str()) && !narrows && node.span.source.is_repository() {
            let message = format!(
                "a repository's configuration must not loosen the sandbox with `sandbox.{name}`"
            );
            let hint = "set it in your own ~/.config/selvedge/config.toml, or use --sandbox";
            return Err(Diagnostic::new(node.key_span.clone(), &message)
                .hint(hint)
                .into());
        }
    }
    Ok(())
}
