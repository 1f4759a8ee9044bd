//! The engine's integration tests, in one binary.

mod agents;
mod process;
mod syntax;
mod workspace;
