//! Keeps a conversation within the model's context window. The server would silently cut off the
//! beginning, which contains the task. Therefore the oldest and least important parts are shortened
//! first: tool results, then tool arguments, then whole exchanges. The opening (system, task,
//! correction) is never changed.

use serde_json::Value;

use super::conversation::{ConversationMessage, MessageRole};

/// Minimum bytes per token: prose has more, code about as many.
pub(super) const BYTES_PER_TOKEN: usize = 3;

/// Most recent tool results, which are kept whole as long as possible because the model works on
/// them.
const PRESERVED_TOOL_RESULTS: usize = 2;
/// Bytes that remain of a shortened text.
const SHORTENED_TEXT_BYTES: usize = 200;
/// Bytes of a message in addition to its text: its role and the template's markers.
const MESSAGE_OVERHEAD_BYTES: usize = 24;

/// Shortens `messages` until they take at most `budget` bytes, or nothing more can be shortened.
/// The first `opening` messages are kept unchanged.
pub(super) fn fit_to_budget(
    messages: &mut Vec<ConversationMessage>,
    opening: usize,
    budget: usize,
) {
    let answers = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == MessageRole::Tool);
    let recent = answers
        .map(|(at, _)| at)
        .rev()
        .nth(PRESERVED_TOOL_RESULTS - 1)
        .unwrap_or(opening)
        .max(opening);
    shorten_while_over(messages, opening..recent, budget, shorten_tool_result);
    shorten_while_over(messages, opening..recent, budget, shorten_arguments);
    while total_size(messages) > budget && drop_oldest_exchange(messages, opening) {}
    let all = opening..messages.len();
    shorten_while_over(messages, all.clone(), budget, shorten_tool_result);
    shorten_while_over(messages, all, budget, shorten_arguments);
}

fn shorten_while_over(
    messages: &mut [ConversationMessage],
    which: std::ops::Range<usize>,
    budget: usize,
    shorten: fn(&mut ConversationMessage),
) {
    for at in which {
        if total_size(messages) <= budget {
            return;
        }
        shorten(&mut messages[at]);
    }
}

fn shorten_tool_result(message: &mut ConversationMessage) {
    if message.role == MessageRole::Tool {
        shorten_text(&mut message.content);
    }
}

fn shorten_arguments(message: &mut ConversationMessage) {
    for call in &mut message.tool_calls {
        for (_, value) in &mut call.function.arguments {
            if let Value::String(text) = value {
                shorten_text(text);
            }
        }
    }
}

fn shorten_text(text: &mut String) {
    if text.len() > 2 * SHORTENED_TEXT_BYTES {
        let left_out = text.len() - SHORTENED_TEXT_BYTES;
        text.truncate(text.floor_char_boundary(SHORTENED_TEXT_BYTES));
        text.extend([
            "\n[",
            &left_out.to_string(),
            " bytes omitted to save space]",
        ]);
    }
}

/// Removes the oldest turn of the model with all answers to it, unless it is the only one.
fn drop_oldest_exchange(messages: &mut Vec<ConversationMessage>, opening: usize) -> bool {
    let turns = messages.iter().enumerate().skip(opening + 1);
    let next = turns
        .filter(|(_, message)| message.role == MessageRole::Assistant)
        .map(|(at, _)| at)
        .next();
    if let Some(next) = next {
        messages.drain(opening..next);
    }
    next.is_some()
}

fn total_size(messages: &[ConversationMessage]) -> usize {
    messages.iter().map(message_size).sum()
}

fn message_size(message: &ConversationMessage) -> usize {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = call.function.arguments.iter();
        let arguments = arguments
            .map(|(name, value)| name.len() + value_size(value))
            .sum::<usize>();
        MESSAGE_OVERHEAD_BYTES + call.function.name.len() + arguments
    });
    MESSAGE_OVERHEAD_BYTES + message.content.len() + calls.sum::<usize>()
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::agents::chat::conversation::{FunctionCall, RequestedToolCall};

    const OPENING: usize = 2;

    /// A conversation with an opening and this number of exchanges, each with long arguments and a
    /// long answer.
    fn conversation(exchanges: usize) -> Vec<ConversationMessage> {
        let mut messages = vec![
            ConversationMessage::new(MessageRole::System, "system"),
            ConversationMessage::new(MessageRole::User, "t".repeat(900)),
        ];
        for number in 0..exchanges {
            let arguments =
                Map::from_iter([("content".to_owned(), Value::from("a".repeat(1_000)))]);
            let call = FunctionCall {
                name: "write_file".into(),
                arguments,
                ..FunctionCall::default()
            };
            let mut turn =
                ConversationMessage::new(MessageRole::Assistant, format!("turn {number}"));
            turn.tool_calls = vec![RequestedToolCall { function: call }];
            messages.push(turn);
            messages.push(ConversationMessage::new(
                MessageRole::Tool,
                "r".repeat(1_000),
            ));
        }
        messages
    }

    #[test]
    fn context_keeps_what_fits() {
        let mut messages = conversation(3);
        let budget = total_size(&messages);
        fit_to_budget(&mut messages, OPENING, budget);
        assert_eq!(messages, conversation(3));
    }

    #[test]
    fn context_shortens_oldest_answers_first() {
        let mut messages = conversation(4);
        let budget = total_size(&messages) - 700;
        fit_to_budget(&mut messages, OPENING, budget);
        assert!(total_size(&messages) <= budget);
        assert!(
            messages[3]
                .content
                .ends_with("[800 bytes omitted to save space]")
        );
        assert_eq!(messages[4..], conversation(4)[4..]);
    }

    #[test]
    fn context_keeps_budget_and_opening() {
        let opening = conversation(0);
        for budget in (0..20_000).step_by(100) {
            let mut messages = conversation(8);
            fit_to_budget(&mut messages, OPENING, budget);
            assert_eq!(messages[..OPENING], opening[..]);
            assert!(messages.len() >= OPENING + 2, "the last exchange is needed");
            assert!(
                total_size(&messages) <= budget.max(total_size(&opening) + 700),
                "{budget}"
            );
            // No answer remains without the turn that requested it.
            assert_eq!(messages[OPENING].role, MessageRole::Assistant);
        }
    }
}
