//! Judgement by others than the one that did the work: what a judge's answer is, and what the
//! answers of one or of several come to. Asking them is the engine's.

mod answer;
mod judges;
mod vote;

pub use answer::{Answer, LIMIT as ANSWER_LIMIT, Unusable, parse, schema};
pub use judges::{NoJudge, choose};
pub use vote::sum_up;
