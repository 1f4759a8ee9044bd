//! An agent's final message, truncated, and the only statement in it that has an effect: that the
//! task cannot be satisfied. Everything else in it is treated as a claim.

use selvedge_core::model::{SessionOutcome, SessionStatus};
use selvedge_core::prompt::parse_cannot_satisfy;

/// Bytes of the final text that are kept, from its end.
pub const TEXT_LIMIT: usize = 64 << 10;

/// Characters of an error or a reason that are kept.
const REASON_LIMIT: usize = 400;

/// Changes the status of a successful session whose text states that the task cannot be satisfied.
pub(super) fn detect_cannot_satisfy(outcome: SessionOutcome) -> SessionOutcome {
    if outcome.status != SessionStatus::Success {
        return outcome;
    }
    match parse_cannot_satisfy(&outcome.text).map(reason_from_text) {
        None => outcome,
        Some(why) => SessionOutcome {
            status: SessionStatus::CannotSatisfy,
            error: Some(if why.is_empty() {
                "no reason given".to_owned()
            } else {
                why
            }),
            ..outcome
        },
    }
}

/// The end of a text, at most [`TEXT_LIMIT`] bytes, after a line that reports the omission.
pub(super) fn truncate_to_tail(text: &str) -> String {
    let start = text.len().saturating_sub(TEXT_LIMIT);
    if start == 0 {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(start);
    format!("[{start} bytes omitted]\n{}", &text[start..])
}

/// A reason from a text: its first two non-empty lines, shortened.
pub(super) fn reason_from_text(text: &str) -> String {
    let lines: Vec<_> = nonempty_lines(text).take(2).collect();
    shorten(&lines.join(" "), REASON_LIMIT)
}

/// A reason from the end of a text: a program's last lines usually explain why it stopped.
pub(super) fn output_tail(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let mut lines: Vec<_> = nonempty_lines(&text).rev().take(3).collect();
    lines.reverse();
    let lines = lines.join(" | ");
    match lines.char_indices().rev().nth(REASON_LIMIT) {
        None => lines,
        Some((at, _)) => format!("…{}", &lines[at..]),
    }
}

/// At most `limit` characters; an ellipsis replaces the rest.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

fn nonempty_lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session_with(status: SessionStatus, text: &str) -> SessionOutcome {
        SessionOutcome {
            text: text.to_owned(),
            ..SessionOutcome::new(status)
        }
    }

    #[test]
    fn final_message_refusal_needs_success() {
        let text = "I looked.\nCANNOT_SATISFY: the test contradicts itself\nSorry.";
        let refused = detect_cannot_satisfy(session_with(SessionStatus::Success, text));
        assert_eq!(refused.status, SessionStatus::CannotSatisfy);
        assert_eq!(
            refused.error.as_deref(),
            Some("the test contradicts itself")
        );
        assert_eq!(refused.text, text);

        let stopped = session_with(SessionStatus::TurnLimit, text);
        assert_eq!(detect_cannot_satisfy(stopped.clone()), stopped);
        let done = session_with(
            SessionStatus::Success,
            "Done; no need for CANNOT_SATISFY: it works",
        );
        assert_eq!(detect_cannot_satisfy(done.clone()), done);
    }

    #[test]
    fn final_message_keeps_end_of_long_text() {
        assert_eq!(truncate_to_tail("short"), "short");
        let kept = truncate_to_tail(&"é".repeat(TEXT_LIMIT));
        assert!(kept.starts_with(&format!("[{TEXT_LIMIT} bytes omitted]\né")));
        assert!(kept.len() < TEXT_LIMIT + 40);
    }

    #[test]
    fn final_message_of_plain_output_has_no_colours() {
        assert_eq!(
            output_tail("a\n\nb\n\u{1b}[31mc\u{1b}[0m \n d\n"),
            "b | c | d"
        );
        assert_eq!(
            output_tail(&"x".repeat(1_000)).chars().count(),
            REASON_LIMIT + 2
        );
        assert_eq!(output_tail(""), "");
    }
}
