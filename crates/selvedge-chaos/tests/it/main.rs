//! The checker on histories made by hand: a sound one breaks nothing, and each change of it breaks the
//! invariant that it is about. With real processes the same is shown by `cargo xtask chaos --plants`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod histories;
