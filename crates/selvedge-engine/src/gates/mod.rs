//! Gates: tiers of checks. Tier 1 is deterministic and always runs; higher tiers run only for work that passed the
//! lower ones. Also the baseline, the guard, and the reruns that distinguish flaky tests from failures.

mod base_revision;
mod baseline;
mod baseline_cache;
mod check_runner;
mod cross_verification;
mod guard;
mod installed;
mod judge;
mod known_failures;
mod originals;
mod protected_git;
mod reruns;
mod setup;
mod syntax_check;
mod tool_call_check;
mod trees;
mod verification;
mod verification_room;
mod written_files;

pub use base_revision::BaseRevision;
pub(crate) use baseline::BaselineRun;
pub(crate) use baseline_cache::BaselineCache;
pub(crate) use check_runner::VerificationContext;
pub(crate) use cross_verification::compose_base;
pub use judge::JudgeGate;
pub use protected_git::MOVED_GIT_DIRS;
pub(crate) use protected_git::ProtectedGit;
pub(crate) use setup::DependencyInstaller;
pub use trees::VerificationTrees;
pub(crate) use trees::run_blocking;
pub use verification::{Verification, verify};
pub use verification_room::{OpenVerificationRoom, VerificationRoomSlot, verification_room_root};
