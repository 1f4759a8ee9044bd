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
mod gates;
mod sink;
mod tools;
mod unkept;

pub use drive::{DriveError, Driver, Observer, Stop};
pub use effects::Site;
pub use gates::{Gate, OpenRoom, Rooms, Since, Trees, Verification, verify};
pub use sink::{Appended, EventSink, SinkError};
