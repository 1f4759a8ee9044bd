//! The settings of `selvedge.toml`, and how layers are merged into effective values.
//!
//! Each layer is read into a tree of values that know their position; the trees are overlaid (tables key by key, other
//! values replaced as a whole) and the result is deserialized. One mechanism thus serves merging, the origin of each
//! value, and the positions in error messages. The caller reads files, environment and command line.

mod agent;
mod check;
mod diagnostic;
mod editor_schema;
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
pub use editor_schema::json_schema;
pub use environment::VARIABLE_PREFIX as ENVIRONMENT_PREFIX;
pub use flags::{FLAG_AGENT_NAME, Flags};
pub use layer::ConfigLayer;
pub use resolve::{ResolvedConfig, resolve};
pub use show::Setting;
pub use source::{ConfigSource, FileOwner, Origin, SourceSpan};
pub use suggest::nearest;
pub use values::{DurationError, HumanDuration};

/// The default settings, with every key and its description.
pub const DEFAULT_TOML: &str = include_str!("default.toml");
