//! What a digest may cost, and what a text costs.
//!
//! A text is counted with the head of the o200k vocabulary (see [`vocabulary`]), split into pieces
//! as o200k splits it. The whole tokenizer would cost the binary 35 MB and 60 ms; its head costs
//! half a megabyte, and counts too much rather than too little.

mod pieces;
mod vocabulary;

/// What a digest may cost when nothing else is said.
pub const DEFAULT_BUDGET_TOKENS: usize = 500;

/// How large a digest may be, and where its reader finds the whole output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestBudget<'a> {
    /// The most o200k tokens that the digest may cost.
    pub tokens: usize,
    /// Where the full output is (a path, a command), named in the line that states what was cut.
    pub full_output: Option<&'a str>,
}

impl<'a> DigestBudget<'a> {
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

impl Default for DigestBudget<'_> {
    fn default() -> Self {
        Self::tokens(DEFAULT_BUDGET_TOKENS)
    }
}

/// How many o200k tokens `text` costs at most.
///
/// Never below the true count, and a few percent above it for logs. Meant for texts of a few
/// kilobytes, not for whole logs.
pub fn estimate_tokens(text: &str) -> usize {
    pieces::TokenPieces::new(text).map(vocabulary::count).sum()
}
