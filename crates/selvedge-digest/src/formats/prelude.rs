//! Items that nearly every format imports.

pub(super) use super::block::{BlockFormat, BlockStep};
pub(super) use super::{FormatParser, LineClaim};
pub(super) use crate::findings::{
    FailureBuilder, FailureSeverity, Findings, TestOutcome, TestTotals,
};
pub(super) use crate::line::{CleanLine, LineSignals};
pub(super) use crate::pattern::{Groups, LinePattern};
pub(super) use crate::record::FailureKind;
