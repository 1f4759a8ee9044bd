//! Removes what makes untrusted text look different from what it is, or control the program that shows it.

use selvedge_digest::strip_escapes;

/// Removes escape sequences, control characters (except line feeds and tabs) and invisible characters.
pub fn sanitize_text(text: &str) -> String {
    let shown = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
    strip_escapes(text).chars().filter(|&c| shown(c)).collect()
}

/// A text on one line, for a log: line breaks are written as `\n` and `\r`, and other control characters and invisible
/// characters are removed. The rest of an escape sequence stays, because an incomplete one would hide the text after it.
pub fn sanitize_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => line.push(c),
        }
    }
    line
}

/// Whether a character is invisible and changes how others are read: everything that Unicode defines as ignorable in
/// display (direction marks, zero-width characters, soft hyphens, fillers, tags, selectors of variants except those of
/// emoji), annotations, blank characters that are not spaces, and separators that do not end lines elsewhere.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Selects the form of an emoji. Kept in text, but no part of a secret.
const fn is_emoji_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// The text that a reader sees of these bytes: without all that [`sanitize_text`] removes, and without selectors. Bytes
/// that are not UTF-8 stay, because they may be the rest of a character.
pub(crate) fn visible_text(bytes: &[u8]) -> Vec<u8> {
    let mut visible = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut text = sanitize_text(chunk.valid());
        text.retain(|c| !is_emoji_selector(c));
        visible.extend_from_slice(text.as_bytes());
        visible.extend_from_slice(chunk.invalid());
    }
    visible
}

/// The position of the first byte that [`visible_text`] may remove. A character that is incomplete at the end counts,
/// if its first byte does not exclude it.
pub(crate) fn find_hidden(bytes: &[u8]) -> Option<usize> {
    // In most texts there is none, which is found faster without a branch.
    let any = bytes
        .iter()
        .fold(false, |any, byte| any | may_begin_hidden(*byte));
    if !any {
        return None;
    }
    let mut at = 0;
    loop {
        at += bytes[at..]
            .iter()
            .position(|byte| may_begin_hidden(*byte))?;
        match char_at(&bytes[at..]) {
            CharAt::Complete(c) if !is_removed(c) => {}
            CharAt::Complete(_) | CharAt::Incomplete => return Some(at),
            CharAt::Invalid => {}
        }
        at += 1;
    }
}

fn is_removed(c: char) -> bool {
    !matches!(c, '\n' | '\t') && (c.is_control() || is_invisible(c) || is_emoji_selector(c))
}

/// Whether a character that is removed may begin with this byte of UTF-8.
const fn may_begin_hidden(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t')
        || matches!(
            byte,
            0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
        )
}

enum CharAt {
    Complete(char),
    Incomplete,
    Invalid,
}

/// The character at the beginning of some bytes.
fn char_at(bytes: &[u8]) -> CharAt {
    let first = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) => match (error.valid_up_to(), error.error_len()) {
            (0, None) => return CharAt::Incomplete,
            (0, Some(_)) => return CharAt::Invalid,
            (valid, _) => std::str::from_utf8(&first[..valid]).unwrap_or_default(),
        },
    };
    valid
        .chars()
        .next()
        .map_or(CharAt::Invalid, CharAt::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sanitize_removes_escapes_and_controls() {
        let hostile = "a\u{1b}]0;title\u{7}b\u{1b}[2Jc\u{202e}d\r\u{9b}31me\n\tf";
        assert_eq!(sanitize_text(hostile), "abcde\n\tf");
    }

    #[test]
    fn sanitized_line_is_one_line_and_complete() {
        let hostile = "a\u{1b}[2Jb\r\nc\u{9d}d\u{202e}e\u{2028}f\tg\0";
        assert_eq!(sanitize_line(hostile), "a[2Jb\\r\\ncdef\tg");
        let json = r#"{"message":"a\u001b[2J\nb"}"#;
        assert_eq!(sanitize_line(json), json);
    }

    #[test]
    fn sanitize_removes_every_invisible_character() {
        let ranges = [
            '\u{ad}'..='\u{ad}',
            '\u{34f}'..='\u{34f}',
            '\u{61c}'..='\u{61c}',
            '\u{115f}'..='\u{1160}',
            '\u{17b4}'..='\u{17b5}',
            '\u{180b}'..='\u{180f}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{2800}'..='\u{2800}',
            '\u{3164}'..='\u{3164}',
            '\u{feff}'..='\u{feff}',
            '\u{ffa0}'..='\u{ffa0}',
            '\u{fff9}'..='\u{fffb}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0000}'..='\u{e007f}',
            '\u{e0100}'..='\u{e01ef}',
        ];
        for character in ranges.into_iter().flatten() {
            assert!(is_invisible(character), "{character:?}");
            let text = format!("a{character}b");
            assert_eq!(sanitize_text(&text), "ab");
            for end in 2..text.len() {
                assert_eq!(find_hidden(&text.as_bytes()[..end]), Some(1), "{end}");
            }
        }
        let visible = "é ü 漢 👍\u{fe0f} \u{a0}| e\u{301} —…“”";
        assert_eq!(sanitize_text(visible), visible);
        let without = visible.replace('\u{fe0f}', "");
        assert_eq!(visible_text(visible.as_bytes()), without.as_bytes());
        assert_eq!(find_hidden(without.as_bytes()), None);
        assert_eq!(find_hidden(b"a\xe2\x28\xff\xc2b"), None, "invalid UTF-8");
    }
}
