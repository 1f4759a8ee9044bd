//! The hub as its clients meet it: over real sockets, on a real database file.

mod harness;
mod scopes;
mod session;
mod submitting;
