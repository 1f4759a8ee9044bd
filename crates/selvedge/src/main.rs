//! The `selvedge` program.
fn main() {}
