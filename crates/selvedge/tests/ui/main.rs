//! The dashboard as people meet it: the real program, real runs, and a real browser. Nothing here puts
//! a row into a store by hand. `cargo xtask ui-test` runs it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod access;
mod door;
mod fixtures;
mod fleet;
mod hostile;
mod hub;
mod live;
mod pictures;
mod tasks;
mod team;
