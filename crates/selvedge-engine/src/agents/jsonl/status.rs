//! How a session ended: by its last record, otherwise by the program's exit.
//!
//! The last record has precedence over the exit code, in both directions, and over a later stop: an
//! exit code of 0 proves nothing without the record, and a session that has reported `success`
//! stays successful if a time limit is reached while the program exits. A record written after our
//! own signal has lower precedence: the program may report `success` for work that we have just
//! interrupted. Its statements about the work itself are never trusted.

use std::time::Instant;

use selvedge_core::model::{SessionOutcome, SessionStatus};

/// The status, and the reason if the session did not succeed. `ending` is the status of the last
/// record and when it was read; `by_exit` is derived from the program's exit, for sessions whose
/// records are missing or report only an interruption; `stopped_at` is when we stopped the program.
pub(in crate::agents) fn resolve_status(
    ending: Option<(SessionStatus, Option<String>, Instant)>,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> (SessionStatus, Option<String>) {
    match ending {
        // The failure was not the agent's, and one of its processes may still be alive.
        _ if by_exit.status == SessionStatus::Infra => (by_exit.status, by_exit.error),
        None if by_exit.status == SessionStatus::Success => {
            let error = "ended without a result record".to_owned();
            (SessionStatus::Failed, Some(error))
        }
        None => (by_exit.status, by_exit.error),
        Some((status, _, at))
            if is_stopped(by_exit.status)
                && (status == SessionStatus::Failed
                    || stopped_at.is_some_and(|stopped| at >= stopped)) =>
        {
            (by_exit.status, by_exit.error)
        }
        Some((status, error, _)) => (status, error),
    }
}

fn is_stopped(status: SessionStatus) -> bool {
    matches!(status, SessionStatus::Timeout | SessionStatus::Cancelled)
}
