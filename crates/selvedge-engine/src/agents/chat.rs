//! A session of our own: a model behind an API, working in the repository through our tools.
//!
//! A correction is a follow-up in the chat: system, task, the last answer, the correction, and
//! never more than the latest attempt. A session that ends with mere talk has done nothing, so
//! tool calls that the model wrote as plain text are taken for what they are, and a model that
//! never used a tool is told so, once. Whether the work is right, the checks say. Who serves the
//! model is a matter of [`model::ChatModel`]; nothing here knows it.

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
