//! What `selvedge.toml` may say, and how its layers become the values in force.
//!
//! A layer is read into a tree of values that know where they stand; trees are laid over each other
//! (tables key by key, anything else replaced whole) and the result is read into the schema. So one
//! mechanism serves the merging, the origin of every value, and the place that an error points at.
//! Files, environment and command line are read by the caller; nothing here knows of them.

mod agent;
mod check;
mod diagnostic;
mod environment;
mod flags;
mod key;
mod layer;
mod resolve;
mod sandbox_keys;
mod schema;
mod show;
mod source;
mod suggest;
mod tree;
mod values;

#[cfg(test)]
mod tests;

pub use diagnostic::{ConfigError, Diagnostic};
pub use environment::VARIABLE_PREFIX as ENVIRONMENT_PREFIX;
pub use flags::{FLAG_AGENT_NAME, Flags};
pub use layer::ConfigLayer;
pub use resolve::{ResolvedConfig, resolve};
pub use show::Setting;
pub use source::{ConfigSource, FileOwner, Origin, SourceSpan};
pub use suggest::json_schema;
pub use suggest::nearest;
pub use values::{DurationError, HumanDuration};

/// The defaults, with every key and what it means.
pub const DEFAULT_TOML: &str = include_str!("default.toml");
