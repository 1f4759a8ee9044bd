//! Selvedge as an agent's hook: what the agent's program says on standard input, how often it was
//! held back, and what it is told. Decisions here are pure; the checks are run by the command.
//!
//! Whatever happens, a hook must never keep an agent from stopping for ever: blocks are counted in a
//! file, the count has a cap below the agent's own, and where it cannot be kept nothing is blocked a
//! second time.

mod block_counter;
mod input;
mod response;

pub(crate) use block_counter::BlockCounter;
pub(crate) use input::StopHookInput;
pub(crate) use response::{HookCheckResult, HookResponse, decide_response};
