//! Splits text into the pieces that o200k encodes separately: words with the mark before them, up to three
//! digits, runs of punctuation, runs of white space.

/// The pieces of a text, in order; concatenated they are the text.
pub(super) struct TokenPieces<'a> {
    rest: &'a str,
}

impl<'a> TokenPieces<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for TokenPieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let length = word(self.rest)
            .or_else(|| digits(self.rest))
            .or_else(|| punctuation(self.rest))
            .or_else(|| space(self.rest))
            .unwrap_or(first.len_utf8());
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(piece)
    }
}

/// Length of the longest prefix of `text` whose characters all satisfy `is`.
fn run(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic()
}

/// Upper case letters, and letters without case, which may be on both sides of the boundary in a word.
fn is_upper(c: char) -> bool {
    c.is_alphabetic() && !c.is_lowercase()
}

fn is_lower(c: char) -> bool {
    c.is_alphabetic() && !c.is_uppercase()
}

/// `[^\r\n\p{L}\p{N}]?`, then capitals followed by small letters, then an English contraction.
fn word(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let lead = if is_letter(first) || first.is_numeric() || matches!(first, '\r' | '\n') {
        0
    } else {
        first.len_utf8()
    };
    let letters = &text[lead..];
    let upper = run(letters, is_upper);
    let lower = run(&letters[upper..], is_lower);
    if upper + lower == 0 {
        return None;
    }
    // Without lower case letters, the word ends after its last letter without case, if it has one.
    let caseless = letters[..upper].char_indices().rfind(|(_, c)| is_lower(*c));
    let end = match caseless {
        Some((at, c)) if lower == 0 => at + c.len_utf8(),
        _ => upper + lower,
    };
    Some(lead + end + contraction(&letters[end..]))
}

fn contraction(text: &str) -> usize {
    ["'s", "'t", "'m", "'d", "'re", "'ve", "'ll"]
        .iter()
        .find(|end| {
            text.get(..end.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(end))
        })
        .map_or(0, |end| end.len())
}

fn digits(text: &str) -> Option<usize> {
    let length: usize = text
        .chars()
        .take(3)
        .take_while(|c| c.is_numeric())
        .map(char::len_utf8)
        .sum();
    (length > 0).then_some(length)
}

/// ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
fn punctuation(text: &str) -> Option<usize> {
    let lead = usize::from(text.starts_with(' '));
    let marks = run(&text[lead..], |c| {
        !c.is_whitespace() && !is_letter(c) && !c.is_numeric()
    });
    if marks == 0 {
        return None;
    }
    let end = lead + marks;
    Some(end + run(&text[end..], |c| matches!(c, '\r' | '\n' | '/')))
}

/// `\s*[\r\n]+`, else white space up to the last one before a word, else white space.
fn space(text: &str) -> Option<usize> {
    let white = run(text, char::is_whitespace);
    if white == 0 {
        return None;
    }
    if let Some(newline) = text[..white].rfind(['\r', '\n']) {
        return Some(newline + 1);
    }
    if white == text.len() {
        return Some(white);
    }
    let last = text[..white].chars().next_back().map_or(0, char::len_utf8);
    Some(if white > last { white - last } else { white })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_capitals_and_caseless_letters() {
        for (text, pieces) in [
            ("𞺣Ⴭ\r", &["𞺣", "Ⴭ", "\r"][..]),
            ("AB漢C漢DE", &["AB漢C漢", "DE"]),
            ("HTTPServer's API", &["HTTPServer's", " API"]),
        ] {
            assert_eq!(TokenPieces::new(text).collect::<Vec<_>>(), pieces, "{text}");
        }
    }
}
