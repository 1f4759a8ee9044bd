//! Removes terminal escape sequences and control characters.

use memchr::memchr;

/// Returns the text without terminal escape sequences and control characters. Each sequence is removed whole,
/// with its parameters. Line breaks and tabs are kept.
///
/// ```
/// assert_eq!(selvedge_digest::strip_escapes("\x1b[1;31merror\x1b[0m: x\r\n"), "error: x\n");
/// ```
#[must_use]
pub fn strip_escapes(text: &str) -> String {
    let clean = |line: &str| {
        let mut clean = String::with_capacity(line.len());
        strip(line, &mut clean);
        clean
    };
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Appends `text` to `out` without its escape sequences and control characters. A backspace removes the
/// character before it, as on a screen.
pub(super) fn strip(text: &str, out: &mut String) {
    let start = out.len();
    let mut rest = text;
    // In most texts, there are only escape sequences to remove.
    let more = text
        .bytes()
        .fold(false, |any, byte| any | may_be_removed(byte));
    let next = |rest: &str| {
        if more {
            rest.find(is_removed)
        } else {
            memchr(ESCAPE, rest.as_bytes())
        }
    };
    while let Some(at) = next(rest) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        match chars.next() {
            Some('\u{1b}') => skip_sequence(&mut chars),
            Some('\u{9b}') => skip_parameters(&mut chars),
            Some('\u{8}') if out.len() > start => {
                out.pop();
            }
            _ => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

const ESCAPE: u8 = 0x1b;

/// Whether a control character other than an escape may begin with this byte of UTF-8.
fn may_be_removed(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' && byte != ESCAPE || byte == 0x7f || byte == 0xc2
}

fn is_removed(c: char) -> bool {
    c.is_control() && c != '\t'
}

/// Skips the sequence after an escape character: ECMA-48's control sequences, strings, and short forms.
fn skip_sequence(chars: &mut std::str::Chars<'_>) {
    match chars.next() {
        // CSI: parameters and intermediates, then one final byte.
        Some('[') => skip_parameters(chars),
        // OSC, DCS, SOS, PM, APC: up to BEL or to the string terminator (an escape and a mark).
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let end = chars.find(|c| matches!(c, '\u{7}' | '\u{1b}'));
            if end == Some('\u{1b}') {
                let _ = chars.next();
            }
        }
        // Selection of a character set: one intermediate, one final byte.
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            let _ = chars.next();
        }
        _ => {}
    }
}

fn skip_parameters(chars: &mut std::str::Chars<'_>) {
    let _ = chars.find(|c| !matches!(c, ' '..='?'));
}

#[cfg(test)]
mod tests {
    fn strip(text: &str) -> String {
        let mut out = String::new();
        super::strip(text, &mut out);
        out
    }

    #[test]
    fn escapes_remove_colours_titles_and_links() {
        assert_eq!(strip("\x1b[1;31merror\x1b[0m: x"), "error: x");
        assert_eq!(
            strip("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"),
            "alink"
        );
        assert_eq!(strip("\u{9b}31mred\u{9b}0m"), "red");
        assert_eq!(strip("\x1b(Ba\x1b[2K\x1b[38;5;12mb\x1b[m"), "ab");
    }

    #[test]
    fn escapes_backspace_overwrites() {
        assert_eq!(strip("12%\u{8}\u{8}\u{8}34%"), "34%");
    }

    #[test]
    fn escapes_truncated_sequence_ends_with_text() {
        for text in ["\x1b", "\x1b[", "\x1b[12;", "\x1b]0;x", "\x1b("] {
            assert_eq!(strip(text), "");
        }
    }
}
