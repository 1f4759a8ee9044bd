//! The trace of a run, in the terms of W3C Trace Context.
//!
//! All ids follow from the run's id, so that every process that takes part in a run knows them without coordination: the
//! one that starts an agent and hands the context to it, and the one that exports the spans.

use sha2::{Digest, Sha256};

use crate::model::RunId;

/// The variable that contains a trace context.
pub const TRACEPARENT: &str = "TRACEPARENT";

/// A span of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSpan {
    /// The whole run.
    Run,
    /// The checks before the agent begins.
    Baseline,
    /// An attempt.
    Attempt(u32),
    /// The agent's session of an attempt.
    Session(u32),
    /// All checks of an attempt.
    Verification(u32),
    /// A check of an attempt, by its index; attempt 0 is the baseline.
    Check(u32, usize),
    /// A tier above the checks, of an attempt.
    Gate(u32, u8),
    /// A judge of an attempt, by tier and index.
    Judge(u32, u8, usize),
}

impl RunSpan {
    /// The span that contains it.
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::Run => None,
            Self::Baseline | Self::Attempt(_) => Some(Self::Run),
            Self::Session(attempt) | Self::Verification(attempt) | Self::Gate(attempt, _) => {
                Some(Self::Attempt(attempt))
            }
            Self::Check(0, _) => Some(Self::Baseline),
            Self::Check(attempt, _) => Some(Self::Verification(attempt)),
            Self::Judge(attempt, tier, _) => Some(Self::Gate(attempt, tier)),
        }
    }

    /// A text that no other span of the run has.
    fn name(self) -> String {
        format!("{self:?}")
    }
}

/// The trace of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    run: RunId,
    trace_id: [u8; 16],
    parent: Option<[u8; 8]>,
}

impl TraceContext {
    /// The trace of a run: the one of `traceparent` if that is valid, such as the one of a CI job, or else a new one with
    /// the run's own id.
    pub fn of_run(run: RunId, traceparent: Option<&str>) -> Self {
        match traceparent.and_then(parse_traceparent) {
            Some((trace_id, parent)) => Self {
                run,
                trace_id,
                parent: Some(parent),
            },
            None => Self {
                run,
                trace_id: run.uuid().into_bytes(),
                parent: None,
            },
        }
    }

    /// The id of the trace.
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The span that started the run, if it is known.
    pub const fn parent(&self) -> Option<[u8; 8]> {
        self.parent
    }

    /// The id of a span.
    pub fn span_id(&self, span: RunSpan) -> [u8; 8] {
        let hash = Sha256::new()
            .chain_update(self.run.uuid().as_bytes())
            .chain_update(span.name())
            .finalize();
        let mut id = [0; 8];
        id.copy_from_slice(&hash[..8]);
        id
    }

    /// The value of [`TRACEPARENT`] for programs that run in a span.
    pub fn traceparent(&self, span: RunSpan) -> String {
        let trace_id = u128::from_be_bytes(self.trace_id);
        let span_id = u64::from_be_bytes(self.span_id(span));
        format!("00-{trace_id:032x}-{span_id:016x}-01")
    }
}

/// The ids of the trace and of the span. Fields that later versions append are ignored.
fn parse_traceparent(text: &str) -> Option<([u8; 16], [u8; 8])> {
    let mut fields = text.split('-');
    let (version, trace_id, span_id) = (fields.next()?, fields.next()?, fields.next()?);
    let flags = fields.next()?;
    let is_hex = |text: &str, length: usize| {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(digit)
    };
    let is_valid = is_hex(version, 2)
        && version != "ff"
        && is_hex(trace_id, 32)
        && is_hex(span_id, 16)
        && is_hex(flags, 2)
        && (version != "00" || fields.next().is_none());
    if !is_valid {
        return None;
    }
    let trace_id = u128::from_str_radix(trace_id, 16)
        .ok()
        .filter(|id| *id != 0)?;
    let span_id = u64::from_str_radix(span_id, 16)
        .ok()
        .filter(|id| *id != 0)?;
    Some((trace_id.to_be_bytes(), span_id.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

    #[test]
    fn trace_of_run_has_its_id_and_stable_spans() {
        let context = TraceContext::of_run(RUN.parse().unwrap(), None);
        let header = context.traceparent(RunSpan::Session(1));
        assert!(
            header.starts_with("00-0190163d8694739baea5966c26f8ad91-"),
            "{header}"
        );
        assert!(header.ends_with("-01") && header.len() == 55, "{header}");
        let again = TraceContext::of_run(RUN.parse().unwrap(), Some(""));
        assert_eq!(again.traceparent(RunSpan::Session(1)), header);
        let spans = [
            RunSpan::Run,
            RunSpan::Baseline,
            RunSpan::Attempt(1),
            RunSpan::Session(1),
            RunSpan::Session(2),
            RunSpan::Check(1, 0),
            RunSpan::Check(0, 1),
            RunSpan::Gate(1, 2),
            RunSpan::Judge(1, 2, 0),
        ];
        let mut ids: Vec<_> = spans.iter().map(|span| context.span_id(*span)).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), spans.len());
    }

    #[test]
    fn trace_continues_valid_parent_only() {
        let run = RUN.parse().unwrap();
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::of_run(run, Some(valid));
        assert_eq!(
            context.parent(),
            Some(0x00f0_67aa_0ba9_02b7_u64.to_be_bytes())
        );
        assert!(
            context
                .traceparent(RunSpan::Run)
                .starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")
        );
        let later = format!("01{}-more", &valid[2..]);
        assert!(TraceContext::of_run(run, Some(&later)).parent().is_some());
        for invalid in [
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "x",
        ] {
            assert_eq!(
                TraceContext::of_run(run, Some(invalid)).parent(),
                None,
                "{invalid}"
            );
        }
    }
}
