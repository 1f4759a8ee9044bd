//! The token budget of a digest, and the estimate of a text's tokens.
//!
//! Tokens are counted with the head of the o200k vocabulary (see [`vocabulary`]), split into pieces as o200k
//! splits text. The whole tokenizer would add 35 MB to the binary and 60 ms to its start; its head adds half
//! a megabyte, and counts too many tokens rather than too few.

mod pieces;
mod vocabulary;

/// Default budget of a digest, in tokens.
pub const DEFAULT_BUDGET_TOKENS: usize = 500;

/// Maximum size of a digest, and the location of the full output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestBudget<'a> {
    /// Maximum number of o200k tokens.
    pub tokens: usize,
    /// Location of the full output (a path or a command), named in the truncation notice.
    pub full_output: Option<&'a str>,
}

impl<'a> DigestBudget<'a> {
    /// A budget of this many tokens.
    pub fn tokens(tokens: usize) -> Self {
        Self {
            tokens,
            full_output: None,
        }
    }

    /// Names the location of the full output in the digest.
    #[must_use]
    pub fn with_full_output(mut self, place: &'a str) -> Self {
        self.full_output = Some(place);
        self
    }
}

impl Default for DigestBudget<'_> {
    fn default() -> Self {
        Self::tokens(DEFAULT_BUDGET_TOKENS)
    }
}

/// Upper bound of the o200k tokens of `text`.
///
/// Never below the true count, and a few percent above it for logs. Intended for texts of a few kilobytes,
/// not for whole logs.
pub fn estimate_tokens(text: &str) -> usize {
    pieces::TokenPieces::new(text).map(vocabulary::count).sum()
}
