//! HTML that is built piece by piece from fixed tags and escaped text. This is the only type that a template
//! does not escape: it cannot be built from an arbitrary string.

use std::fmt;

use askama::filters::HtmlSafe;

/// Markup that is safe to include in a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Empty markup.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Adds a tag or another constant of this program's source.
    pub fn push_tag(&mut self, fixed: &'static str) {
        self.0.push_str(fixed);
    }

    /// Adds untrusted text, escaped, with invisible characters made visible.
    pub fn push_text(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        let mut before = None;
        while let Some(character) = characters.next() {
            if super::is_joiner_between(before, character, characters.peek().copied()) {
                self.0.push(character);
            } else {
                self.push_character(character);
            }
            before = Some(character);
        }
    }

    /// Adds one untrusted character.
    pub fn push_character(&mut self, character: char) {
        match character {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&#34;"),
            '\'' => self.0.push_str("&#39;"),
            _ => match super::visible_form(character) {
                None => self.0.push(character),
                Some(shape) => self.push_chip(&shape),
            },
        }
    }

    /// Adds a placeholder for something that is not shown as itself. Special and invisible characters of
    /// `shape` become `·`.
    pub(super) fn push_chip(&mut self, shape: &str) {
        self.push_tag("<span class=\"ctl\">");
        for character in shape.chars() {
            match character {
                '&' | '<' | '>' | '"' | '\'' => self.0.push('·'),
                _ if super::visible_form(character).is_some() => self.0.push('·'),
                _ => self.0.push(character),
            }
        }
        self.push_tag("</span>");
    }

    /// Adds a number.
    pub fn push_number(&mut self, number: impl Into<f64>) {
        let number: f64 = number.into();
        if number.is_finite() {
            self.0.push_str(&format!("{number:.1}"));
        } else {
            self.0.push('0');
        }
    }

    /// Splits it into parts that begin at these lines, counted from 0 and ascending. Only for markup that closes its tags
    /// before the end of each line.
    pub(crate) fn split_at_lines(&self, starts: &[usize]) -> Vec<Self> {
        let mut parts = vec![Self::new()];
        for (number, line) in self.0.split_inclusive('\n').enumerate() {
            if number > 0 && starts.contains(&number) {
                parts.push(Self::new());
            }
            if let Some(part) = parts.last_mut() {
                part.0.push_str(line);
            }
        }
        parts
    }

    /// The HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::FastWritable for Markup {
    fn write_into(&self, dest: &mut dyn fmt::Write, _: &dyn askama::Values) -> askama::Result<()> {
        dest.write_str(&self.0)?;
        Ok(())
    }
}

impl HtmlSafe for Markup {}
