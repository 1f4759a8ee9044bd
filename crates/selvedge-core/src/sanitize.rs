//! Removes what makes untrusted text look different from what it is, or control the program that shows it.

use selvedge_digest::strip_escapes;

/// Removes escape sequences, control characters (except line feeds and tabs) and invisible characters.
pub fn sanitize_text(text: &str) -> String {
    let shown = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c));
    strip_escapes(text).chars().filter(|&c| shown(c)).collect()
}

/// Whether a character is invisible and changes how others are read: direction marks, zero-width characters, soft
/// hyphens, tags, annotations, and separators that do not end lines elsewhere.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
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
    fn sanitize_removes_every_invisible_character() {
        let ranges = [
            '\u{ad}'..='\u{ad}',
            '\u{61c}'..='\u{61c}',
            '\u{180e}'..='\u{180e}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{feff}'..='\u{feff}',
            '\u{fff9}'..='\u{fffb}',
            '\u{e0000}'..='\u{e007f}',
            '\u{e0100}'..='\u{e01ef}',
        ];
        for character in ranges.into_iter().flatten() {
            assert!(is_invisible(character), "{character:?}");
            assert_eq!(sanitize_text(&format!("a{character}b")), "ab");
        }
        let visible = "é ü 漢 👍\u{fe0f} \u{a0}| e\u{301} —…“”";
        assert_eq!(sanitize_text(visible), visible);
    }
}
