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
mod place;
mod resolve;
mod schema;
mod show;
mod suggest;
mod tree;
mod values;
mod walls;

#[cfg(test)]
mod tests;

pub use diagnostic::{ConfigError, Diagnostic};
pub use environment::PREFIX as ENVIRONMENT_PREFIX;
pub use flags::{AGENT_OF_FLAG, Flags};
pub use layer::Layer;
pub use place::{FileOwner, Origin, Place, Source};
pub use resolve::{Resolved, resolve};
pub use show::Setting;
pub use suggest::json_schema;
pub use suggest::nearest;
pub use values::{DurationError, HumanDuration};

/// The defaults, with every key and what it means.
pub const DEFAULT_TOML: &str = include_str!("default.toml");
