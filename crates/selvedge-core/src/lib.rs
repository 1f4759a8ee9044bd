//! The pure heart of Selvedge: what the words mean, what the loop decides, what the next prompt says.
//!
//! Everything here is synchronous and total. Time, ids and the contents of files arrive as
//! arguments; nothing in this crate reads a clock, a file, the environment or a socket, and
//! `clippy.toml` beside this crate forbids it by name. What acts on the world lives in
//! `selvedge-engine`; what remembers lives in `selvedge-store`.

pub mod config;
pub mod crossing;
pub mod export;
pub mod flakiness;
pub mod format;
pub mod gate;
pub mod guard;
pub mod infra_error_patterns;
pub mod lease;
pub mod machine;
pub mod model;
pub mod plan;
pub mod plugin;
pub mod price;
pub mod prompt;
pub mod protocol;
pub mod redact;
pub mod route;
