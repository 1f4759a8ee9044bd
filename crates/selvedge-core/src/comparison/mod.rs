//! Compares two runs of a check: which tests were not executed again, and whether failures are the same.

pub(crate) mod message;
pub(crate) mod signature;
pub(crate) mod static_analysis;

pub use static_analysis::is_analysis_program;
pub(crate) mod test_regression;
