//! Recent activity of an agent, from the events of its worker or parsed leniently from its transcript: JSON
//! records if the agent prints them, else lines. For display only, never evidence; the transcript is linked.

use selvedge_core::format::duration;
use selvedge_protocol::ProgressEvent;

use crate::text::{make_visible, single_line};
use crate::trace::{Trace, TraceKind, TraceStep};

/// One entry of the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActivityItem {
    /// A class of the stylesheet: `message`, `tool`, `answer` or `printed`.
    pub(super) kind: &'static str,
    /// Text for people.
    pub(super) text: String,
}

/// Maximum length of one entry, in characters.
const MAX_ITEM_CHARS: usize = 600;
/// Maximum number of entries; the last ones are shown.
const MAX_ITEMS: usize = 60;

/// Parses the end of a transcript; its first line may be incomplete.
pub(crate) fn parse_transcript(bytes: &[u8], from_start: bool) -> Vec<ActivityItem> {
    let steps = Trace::parse(bytes, from_start).steps;
    let before = steps.len().saturating_sub(MAX_ITEMS);
    steps.iter().skip(before).map(item_from_step).collect()
}

fn item_from_step(step: &TraceStep) -> ActivityItem {
    match step.kind {
        TraceKind::Message | TraceKind::Reasoning => activity_item("message", &step.text),
        TraceKind::Printed => activity_item("printed", &step.text),
        TraceKind::Tool => {
            let failed = if step.is_error { " (failed)" } else { "" };
            activity_item("tool", &format!("{} {}{failed}", step.name, step.text))
        }
    }
}

/// Entries from the events of the task's worker.
pub(crate) fn items_from_events(events: &[ProgressEvent]) -> Vec<ActivityItem> {
    let moments = events.iter().filter_map(item_from_event);
    moments.filter(|moment| !moment.text.is_empty()).collect()
}

fn item_from_event(event: &ProgressEvent) -> Option<ActivityItem> {
    use ProgressEvent as P;
    Some(match event {
        P::Token { text } => activity_item("message", text),
        P::Tool {
            name, subject, ok, ..
        } => match ok {
            None => activity_item("tool", &format!("{name} {}", single_line(subject, 160))),
            Some(true) => return None,
            Some(false) => activity_item("answer", &format!("{name} failed")),
        },
        P::ApiRetry {
            attempt,
            max,
            delay_ms,
            text,
        } => {
            let wait = duration(*delay_ms);
            let words = format!("model API retry {attempt} of {max} in {wait}: {text}");
            activity_item("printed", &words)
        }
        P::Status { message } => activity_item("printed", message),
        P::CheckStart { text, again: false } => activity_item("tool", &format!("check {text}")),
        P::CheckStart { text, again: true } => {
            activity_item("tool", &format!("check {text} (again)"))
        }
        P::VerificationCheckResult {
            check_status,
            text,
            duration_ms,
            ..
        } => {
            let (status, took) = (check_status.label(), duration(*duration_ms));
            activity_item("answer", &format!("{status} {text}, {took}"))
        }
        P::VerificationRetryStart { text, .. } | P::VerificationRetryComplete { text, .. } => {
            activity_item("printed", text)
        }
        P::Cost { .. } | P::Unknown => return None,
    })
}

fn activity_item(kind: &'static str, text: &str) -> ActivityItem {
    let mut cut: String = text.trim().chars().take(MAX_ITEM_CHARS).collect();
    if cut.len() < text.trim().len() {
        cut.push('…');
    }
    ActivityItem {
        kind,
        text: make_visible(&cut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_transcript_reads_records_of_several_agents() {
        let printed = concat!(
            r#"{"type":"system","subtype":"init","tools":[]}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Looking."},{"type":"tool_use","name":"Edit","input":{"file_path":"a.rs"}}]}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
            "\n",
            "a plain \u{202e}line\n",
        );
        let read: Vec<_> = parse_transcript(printed.as_bytes(), true)
            .into_iter()
            .map(|it| (it.kind, it.text))
            .collect();
        let expected = [
            ("message", "Looking."),
            ("tool", "Edit a.rs"),
            ("message", "Done."),
            ("printed", "a plain ⟨U+202E⟩line"),
        ];
        assert_eq!(read, expected.map(|(kind, text)| (kind, text.to_owned())));
    }
}
