//! What a digest may cost, and a cheap estimate of what a text costs.
//!
//! The estimate must never lie below the count of the o200k tokenizer, which is too large to carry
//! (35 MB and 60 ms). It may lie above it: what that wastes is a line of a digest.

/// What a digest may cost when nothing else is said.
pub const DEFAULT_BUDGET_TOKENS: usize = 500;

/// How large a digest may be, and where its reader finds the whole output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget<'a> {
    /// The most o200k tokens that the digest may cost.
    pub tokens: usize,
    /// Where the full output is (a path, a command), named in the line that states what was cut.
    pub full_output: Option<&'a str>,
}

impl<'a> Budget<'a> {
    /// A budget of so many tokens.
    pub fn tokens(tokens: usize) -> Self {
        Self {
            tokens,
            full_output: None,
        }
    }

    /// Names the place of the full output in the digest.
    #[must_use]
    pub fn with_full_output(mut self, place: &'a str) -> Self {
        self.full_output = Some(place);
        self
    }
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Self::tokens(DEFAULT_BUDGET_TOKENS)
    }
}

/// How many o200k tokens `text` costs at most.
pub fn estimate_tokens(text: &str) -> usize {
    text.len()
}
