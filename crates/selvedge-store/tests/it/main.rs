//! The store's tests: the contract suite for every implementation, and tests specific to SQLite.
#![expect(
    clippy::unwrap_used,
    reason = "what cannot be done fails the test that needed it"
)]

mod hub;
mod kill;
mod sqlite;
