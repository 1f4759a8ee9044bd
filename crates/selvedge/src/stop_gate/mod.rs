//! The stop gate: an agent that its user started may finish only when the project's checks pass, or after a bounded
//! number of refusals. The agent's program calls `selvedge hook` at events of its session.
//!
//! The work between a user's message and the agent's stop is a run, in the journal like any other one. Its attempts are
//! the agent's attempts to finish, and the state machine of the core decides about them; its effects are carried out
//! here ([`gate`]), because the session belongs to the user: the workspace is read, never written.
//!
//! [`protocol`] translates the events and answers of each agent, [`session`] decides which tree the work is compared
//! with; both are pure. [`store`] keeps a session's state between two calls.
//!
//! Nothing that fails here may hold an agent: every error lets it go, with a message.

mod baseline;
mod gate;
mod protocol;
mod session;
mod store;
mod verification;

pub(crate) use baseline::baseline_main;
pub(crate) use gate::{GateProject, StopGate};
pub(crate) use protocol::{GateAnswer, HookAgent};
