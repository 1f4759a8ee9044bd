//! Makes untrusted text safe to show. The templates escape markup; this module handles what escaping does not: control
//! characters, escape sequences, and invisible characters that change how a text reads. They are made visible and never
//! interpreted, except colours.

mod ansi;
mod markup;
mod message;

pub use ansi::ansi;
pub use markup::Markup;
pub use message::message;

use selvedge_core::sanitize::is_invisible;

/// The visible form of a character that must not be shown as itself.
fn visible_form(character: char) -> Option<String> {
    let code = u32::from(character);
    match character {
        '\n' | '\t' => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + code).map(String::from),
        '\u{7f}' => Some("␡".to_owned()),
        _ if character.is_control() || is_invisible(character) => Some(format!("⟨U+{code:04X}⟩")),
        _ => None,
    }
}

/// Whether a character joins its neighbours to one shape, as in emoji and in several scripts. Anywhere else it
/// is an invisible character like others.
fn is_joiner_between(before: Option<char>, character: char, after: Option<char>) -> bool {
    let joins = |it: Option<char>| {
        it.is_some_and(|it| !it.is_ascii() && !it.is_whitespace() && !is_joiner(it))
    };
    is_joiner(character) && joins(before) && joins(after)
}

const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// Makes every character visible: for untrusted text that is not the output of a program.
pub fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        let joins = is_joiner_between(before, character, characters.peek().copied());
        match visible_form(character).filter(|_| !joins) {
            None => out.push(character),
            Some(shape) => out.push_str(&shape),
        }
        before = Some(character);
    }
    out
}

/// One line of untrusted text, at most `longest` characters: for lists.
pub fn single_line(text: &str, longest: usize) -> String {
    let mut parts = text.split_whitespace();
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for word in parts {
        if joined.len() > longest.saturating_mul(4) {
            break;
        }
        joined.push(' ');
        joined.push_str(word);
    }
    let visible = make_visible(&joined);
    match visible.char_indices().nth(longest) {
        None => visible,
        Some((end, _)) => format!("{}…", visible.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_visible_shows_invisible_characters() {
        assert_eq!(make_visible("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(make_visible("\x1b[31m\0\x7f"), "␛[31m␀␡");
        assert_eq!(make_visible("tab\tand\nline"), "tab\tand\nline");
        assert_eq!(make_visible("\u{e0041}\u{200b}"), "⟨U+E0041⟩⟨U+200B⟩");
        assert_eq!(make_visible("👩\u{200d}🚀 é 漢"), "👩\u{200d}🚀 é 漢");
        assert_eq!(make_visible("\u{200d}\u{200d}a"), "⟨U+200D⟩⟨U+200D⟩a");
        assert_eq!(single_line("  one\r\n two  three", 8), "one two …");
    }
}
