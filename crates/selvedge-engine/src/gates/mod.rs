//! Gates: tiers of checks. Tier 1 is deterministic and always runs; higher tiers are asked only
//! about work that passed below them. Beside it: the baseline, the guard, and the reruns that tell
//! a flake from a failure.

mod baseline;
mod calls;
mod changed;
mod crossing;
mod guard;
mod installed;
mod judge;
mod known;
mod look;
mod originals;
mod remembered;
mod reruns;
mod room;
mod setup;
mod since;
mod tier1;
mod trees;
mod written;

pub(crate) use baseline::BaselineRun;
pub(crate) use crossing::compose_base;
pub use judge::Gate;
pub(crate) use look::Place;
pub(crate) use remembered::Remembered;
pub(crate) use room::remove_room;
pub use room::{OpenRoom, Rooms};
pub(crate) use setup::Setup;
pub use since::Since;
pub use tier1::{Verification, verify};
pub use trees::Trees;
