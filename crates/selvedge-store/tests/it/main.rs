//! The store's tests: the contract suite over every implementation, and what is SQLite's own.
#![expect(
    clippy::unwrap_used,
    reason = "what cannot be done fails the test that needed it"
)]

mod earlier;
mod hub;
mod kill;
mod sqlite;
