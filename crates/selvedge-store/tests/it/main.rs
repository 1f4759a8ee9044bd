//! The store's tests: the contract suite for every implementation, and tests specific to SQLite.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be done fails the test that needed it"
)]

mod hub;
mod journal_contract;
mod kill;
mod sqlite;
