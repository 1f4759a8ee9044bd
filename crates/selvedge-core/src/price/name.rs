//! Normalizes the spellings of a model's name by providers, gateways and agents.

/// Removes the provider's prefix and the suffixes for date, variant and context window.
pub(super) fn canonical(spelled: &str) -> String {
    let lower = spelled.trim().to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    // Amazon Bedrock writes `us.anthropic.claude-…`; a point before a digit belongs to a version.
    let name = name
        .rfind("anthropic.")
        .map_or(name, |at| &name[at + "anthropic.".len()..]);
    let name = name.split(['[', '@', ':']).next().unwrap_or_default();
    let name = name.strip_suffix("-v1").unwrap_or(name);
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let name = without_date(name);
    // Gateways write `claude-haiku-4.5` for what Anthropic calls `claude-haiku-4-5`.
    if name.starts_with("claude-") {
        name.replace('.', "-")
    } else {
        name.to_owned()
    }
}

/// Removes `-20251001` or `-2025-08-07`.
fn without_date(name: &str) -> &str {
    let Some((head, last)) = name.rsplit_once('-') else {
        return name;
    };
    if is_number(last, 8) {
        return head;
    }
    let date = head.rsplit_once('-').and_then(|(head, month)| {
        let (head, year) = head.rsplit_once('-')?;
        (is_number(last, 2) && is_number(month, 2) && is_number(year, 4)).then_some(head)
    });
    date.unwrap_or(name)
}

fn is_number(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_suffixes_are_removed() {
        for (spelled, name) in [
            ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
            ("openai/gpt-5.2", "gpt-5.2"),
            ("claude-3.5-sonnet:beta", "claude-3-5-sonnet"),
            ("gemini-3-pro-preview", "gemini-3-pro-preview"),
            ("gpt-4-0613", "gpt-4-0613"),
            ("20250101", "20250101"),
            ("[1m]", ""),
        ] {
            assert_eq!(canonical(spelled), name, "{spelled}");
        }
    }
}
