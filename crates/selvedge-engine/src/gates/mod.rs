//! Gates: tiers of checks. Tier 1 is deterministic and always runs; higher tiers are asked only
//! about work that passed below them.

mod tier1;

pub use tier1::{Verification, verify};
