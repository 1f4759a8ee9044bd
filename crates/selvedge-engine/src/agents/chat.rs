//! A session of our own: a model behind an API that works in the repository through our tools.
//!
//! A correction continues the chat: system prompt, task, the last answer, the correction, and never
//! more than the latest attempt. A session that ends with text alone has changed nothing. Therefore
//! tool calls that the model wrote as plain text are executed, and a model that never used a tool
//! is reminded once. The checks decide whether the work is right. [`model::ChatModel`] abstracts
//! the server; this module does not depend on it.

mod context;
pub(super) mod conversation;
mod instructions;
pub(super) mod model;
mod session;
mod text_tool_calls;
pub(super) mod timeouts;
mod tools;
mod transcript;
mod usage;
pub(super) mod workspace_fs;

pub(super) use session::{SessionDefaults, run_session};
