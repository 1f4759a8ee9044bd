//! The engine's integration tests, in one binary.

mod process;
mod workspace;
