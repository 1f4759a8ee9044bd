//! Runs the effects of Selvedge's state machine: starts agents, runs checks, takes snapshots.
//!
//! The policy is in `selvedge-core`; this crate performs effects and returns what it observed. It does not know where
//! events are stored: [`Driver`] takes an [`EventSink`].

pub mod activity;
pub mod agents;
pub mod checkout;
pub mod checks;
pub mod environment;
pub mod process;
pub mod sandbox;
pub mod syntax;
pub mod workspace;

mod check_error;
mod check_slots;
mod drive;
mod effects;
mod excluded_files;
mod gates;
mod parallel;
mod removal;
mod sink;
mod tools;

pub use check_error::CheckError;
pub use check_slots::{CheckSlots, SLOT_VARIABLE};
pub use drive::{DriveError, Driver, Observer, RunJournal, StopRequest};
pub use effects::{RunContext, wait_until};
pub use gates::{
    BaseRevision, JudgeGate, MOVED_GIT_DIRS, OpenVerificationRoom, Verification,
    VerificationRoomSlot, VerificationTrees, verification_room_root, verify,
};
pub use removal::remove_all;
pub use sink::{AppendResult, EventSink, SinkError};
