//! Does what Selvedge's state machine asks for: runs agents, checks their work, keeps trees.
//!
//! The policy is in `selvedge-core`; this crate acts on the world and answers with what it
//! observed. It never knows where events are stored: [`Driver`] takes an [`EventSink`].

pub mod activity;
pub mod agents;
pub mod checkout;
pub mod checks;
pub mod process;
pub mod sandbox;
pub mod syntax;
pub mod workspace;

mod drive;
mod effects;
mod excluded_files;
mod gates;
mod sink;
mod tools;

pub use drive::{DriveError, Driver, Observer, StopRequest};
pub use effects::RunContext;
pub use gates::{
    BaseRevision, JudgeGate, OpenVerificationRoom, Verification, VerificationRoomSlot,
    VerificationTrees, verify,
};
pub use sink::{AppendResult, EventSink, SinkError};
