//! Keys and their WebDriver code points.

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserKey {
    /// A key that types a character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
}

impl BrowserKey {
    pub(super) fn value(self) -> String {
        let named = match self {
            Self::Char(character) => character,
            Self::Enter => '\u{e007}',
            Self::Escape => '\u{e00c}',
            Self::Tab => '\u{e004}',
        };
        named.to_string()
    }
}
