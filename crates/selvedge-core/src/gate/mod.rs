//! Judgement by others than the one that did the work: what a judge's answer is, and what the
//! answers of one or of several come to. Asking them is the engine's.

mod answer;
mod judges;
mod vote;

pub use answer::{JudgeAnswer, MAX_ANSWER_BYTES as ANSWER_LIMIT, ParseAnswerError, parse, schema};
pub use judges::{JudgeConfigError, choose};
pub use vote::summarize_votes;
