//! Integration tests of the digest, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_collect,
    reason = "a test that cannot go on says so by panicking; its inputs are small"
)]

mod budget;
mod comparable;
mod contract;
mod formats;
mod promises;
mod properties;
mod recorded;
mod records;
mod reference;
mod success;
mod toolchains;
