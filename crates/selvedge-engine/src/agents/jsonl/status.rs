//! How a session ended, by its own last record first, then by how the program ended.
//!
//! The last record outranks the exit code, in both directions, and a stop that came after it: an
//! exit code of 0 proves nothing without it, and a session that has said `success` is not undone
//! by a clock that ran out while it was cleaning up. A record that came after our own signal ranks
//! below it: the program may say `success` of work that we have just broken off. What it says
//! about the work is not believed here or anywhere.

use std::time::Instant;

use selvedge_core::model::{SessionOutcome, SessionStatus};

/// How it ended, and why where it did not succeed. `ending` is what the last record says and when it
/// was read; `by_exit` what the program's end says, for when the records are silent or say only that
/// the session was broken off; `stopped_at` is when we broke it off.
pub(in crate::agents) fn resolve_status(
    ending: Option<(SessionStatus, Option<String>, Instant)>,
    by_exit: SessionOutcome,
    stopped_at: Option<Instant>,
) -> (SessionStatus, Option<String>) {
    match ending {
        // What failed was not the agent, and something of it may still be alive.
        _ if by_exit.status == SessionStatus::Infra => (by_exit.status, by_exit.error),
        None if by_exit.status == SessionStatus::Success => {
            let error = "ended without saying how: no result record".to_owned();
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
