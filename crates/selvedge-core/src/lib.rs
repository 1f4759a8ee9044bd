//! The pure core of Selvedge: the data model, the decisions of the loop, and the prompts.
//!
//! Everything here is synchronous and total. Time, ids and file contents are arguments; nothing in this crate reads a
//! clock, a file, the environment or a socket, and the crate's `clippy.toml` forbids it by name. `selvedge-engine` has
//! the effects; `selvedge-store` has the storage.

pub mod comparison;
pub mod config;
pub mod crossing;
pub mod describe;
pub mod export;
pub mod flakiness;
pub mod format;
pub mod gate;
pub mod guard;
pub mod infra_error_patterns;
pub mod installed;
pub mod machine;
pub mod model;
pub mod paths;
pub mod plan;
pub mod plugin;
pub mod price;
pub mod prompt;
pub mod redact;
pub mod repository;
pub mod route;
pub mod run;
pub mod sanitize;
pub mod trace_context;
