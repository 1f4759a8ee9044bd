//! Sanitizes untrusted text for a terminal: it cannot move the cursor, change colours, set the window's title or
//! reorder text.

use selvedge_digest::strip_escapes;

/// Removes escape sequences, control characters (except line feeds and tabs), direction marks and invisible tags.
pub(crate) fn sanitize_text(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => true,
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    };
    strip_escapes(text).chars().filter(|&c| shown(c)).collect()
}

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
    fn a_terminal_cannot_be_talked_to() {
        let hostile = "a\u{1b}]0;title\u{7}b\u{1b}[2Jc\u{202e}d\r\u{9b}31me\n\tf";
        assert_eq!(sanitize_text(hostile), "abcde\n\tf");
        assert_eq!(one_line("\n\n  long enough  \nx", 6), "long …");
    }
}
