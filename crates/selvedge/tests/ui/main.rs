//! Tests of the dashboard with the real program, real runs and a real browser. No test writes to a store
//! directly. Run them with `cargo xtask ui-test`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod access;
mod controls;
mod door;
mod fixtures;
mod fleet;
mod hostile;
mod hub;
mod live;
mod pictures;
mod tasks;
mod team;
