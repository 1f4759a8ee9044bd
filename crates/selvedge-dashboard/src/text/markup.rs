//! HTML that was made here, piece by piece, from text that was escaped on its way in. The only type
//! that a template does not escape: it can be built from fixed tags and from text, not from a string
//! that somebody else wrote.

use std::fmt;

use askama::filters::HtmlSafe;

/// Markup that is safe to stand in a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Adds a tag, or anything else that stands in this program's own source.
    pub fn push_tag(&mut self, fixed: &'static str) {
        self.0.push_str(fixed);
    }

    /// Adds foreign text, escaped, with what cannot be seen made visible.
    pub fn push_text(&mut self, text: &str) {
        for character in text.chars() {
            self.push_character(character);
        }
    }

    /// Adds one foreign character.
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

    /// Adds what stands for something that is not shown as itself. No character of it needs care.
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

    /// As it stands in the page.
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
