//! Foreign text made harmless for a page. Escaping is the templates' work; here goes what escaping
//! leaves in: control characters, escape sequences and the invisible characters that make a text read
//! other than it is. They are made visible, never interpreted, but for colours.

mod ansi;
mod markup;

pub use ansi::ansi;
pub use markup::Markup;

/// What a character is shown as, where it must not be shown as itself.
fn visible_form(character: char) -> Option<String> {
    let code = u32::from(character);
    match character {
        '\n' | '\t' => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + code).map(String::from),
        '\u{7f}' => Some("␡".to_owned()),
        _ if is_deceptive(character) => Some(format!("⟨U+{code:04X}⟩")),
        _ => None,
    }
}

/// Characters without a shape of their own that change how others are read: the other controls,
/// marks of direction, spaces of no width, tags, separators that are no line ends here. (The joiners
/// stay: they shape letters and pictures.)
fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Text whose every character can be seen: for whatever is foreign and is no output of a program.
pub fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match visible_form(character) {
            None => out.push(character),
            Some(shape) => out.push_str(&shape),
        }
    }
    out
}

/// One line of foreign text, at most so many characters: for lists.
pub fn single_line(text: &str, longest: usize) -> String {
    let mut words = text.split_whitespace();
    let mut joined = words.next().unwrap_or_default().to_owned();
    for word in words {
        if joined.len() > longest.saturating_mul(4) {
            break;
        }
        joined.push(' ');
        joined.push_str(word);
    }
    let whole = make_visible(&joined);
    match whole.char_indices().nth(longest) {
        None => whole,
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_changes_how_a_text_reads() {
        assert_eq!(make_visible("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(make_visible("\x1b[31m\0\x7f"), "␛[31m␀␡");
        assert_eq!(make_visible("tab\tand\nline"), "tab\tand\nline");
        assert_eq!(make_visible("\u{e0041}\u{200b}"), "⟨U+E0041⟩⟨U+200B⟩");
        assert_eq!(make_visible("👩\u{200d}🚀 é 漢"), "👩\u{200d}🚀 é 漢");
        assert_eq!(single_line("  one\r\n two  three", 8), "one two …");
    }
}
