//! What a repository's own file may say of the walls: they stand against what the repository holds as
//! well, so it may make them narrower and nothing else.

use super::diagnostic::{ConfigError, Diagnostic};
use super::key::Key;
use super::tree::{Node, Value};

/// What can be said in `[sandbox]`.
const SANDBOX_KEYS: &[&str] = &[
    "backend",
    "required",
    "agents",
    "checks",
    "writable",
    "image",
    "engine_args",
    "container_args",
];

/// Refuses what would widen them.
pub(super) fn keeps_the_walls(layer: &Node) -> Result<(), ConfigError> {
    let Some(Value::Table(keys)) = layer.at(&Key::dotted("sandbox")).map(|node| &node.value) else {
        return Ok(());
    };
    for (name, node) in keys {
        let value = node.to_toml();
        let narrows = match name.as_str() {
            "required" => value.as_bool() == Some(true),
            "agents" | "checks" => value.as_str() == Some("strict"),
            _ => false,
        };
        if SANDBOX_KEYS.contains(&name.as_str()) && !narrows && node.place.source.is_repository() {
            let message =
                format!("a repository's file may not widen the walls with `sandbox.{name}`");
            let hint = "set it in your own ~/.config/selvedge/config.toml, or use --sandbox";
            return Err(ConfigError(
                Diagnostic::new(node.key_place.clone(), &message).hint(hint.to_owned()),
            ));
        }
    }
    Ok(())
}
