//! Integration tests of the engine, in one binary.

mod agents;
mod process;
mod syntax;
mod workspace;
