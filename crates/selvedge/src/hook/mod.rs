//! The agent's stop hook: its input, its response, and how often a session was blocked. Decisions here are pure; the
//! command runs the checks.
//!
//! A hook must never block an agent forever: blocks are counted in a file, their limit is below the agent's own, and if
//! the file cannot be written, the agent is not blocked a second time.

mod block_counter;
mod input;
mod response;

pub(crate) use block_counter::BlockCounter;
pub(crate) use input::StopHookInput;
pub(crate) use response::{HookCheckResult, HookResponse, decide_response};
