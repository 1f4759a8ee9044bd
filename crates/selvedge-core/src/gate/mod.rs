//! Judging by models other than the one that did the work: the format of an answer, and how the answers of one or
//! several judges are combined. The engine asks the judges.

mod answer;
mod judges;
mod vote;

pub use answer::{JudgeAnswer, MAX_ANSWER_BYTES as ANSWER_LIMIT, ParseAnswerError, parse, schema};
pub use judges::{JudgeConfigError, choose};
pub use vote::summarize_votes;
