//! The checker on handmade histories: a sound history violates nothing, and each change to it violates
//! the invariant that it concerns. `cargo xtask chaos --mutants` shows the same with real processes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod histories;
