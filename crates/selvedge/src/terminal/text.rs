//! Text for a terminal: single lines, and indented ones.

use selvedge_core::sanitize::sanitize_text;

/// The first non-blank line, truncated to `width` characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let plain = sanitize_text(text);
    let line = plain
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let truncated: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{truncated}…")
}

/// The end of a text, of at most `width` characters.
pub(crate) fn last_chars(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - width).collect();
    format!("…{end}")
}

/// Prefixes every line.
pub(crate) fn indent_lines(text: &str, prefix: &str) -> String {
    sanitize_text(text)
        .lines()
        .map(|line| format!("{prefix}{line}").trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_takes_the_first_text() {
        assert_eq!(one_line("\n\n  long enough  \nx", 6), "long …");
    }
}
