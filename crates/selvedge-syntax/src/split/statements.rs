//! Parts of a body that are compiled for tests only: statements, fields and arms under `#[cfg(test)]`.

use std::iter::Peekable;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{MAX_DEPTH, is_test_cfg};

/// Adds the positions of these parts of a body to `found`.
pub(super) fn find_test_statements(body: TokenStream, depth: usize, found: &mut Vec<Range<usize>>) {
    let mut tokens = body.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.next() else {
                    continue;
                };
                let attribute: Vec<TokenTree> = attribute.stream().into_iter().collect();
                if is_test_cfg(&attribute)
                    && let Some(end) = skip_statement(&mut tokens)
                {
                    found.push(mark.span().byte_range().start..end);
                }
            }
            TokenTree::Group(group) if depth < MAX_DEPTH => {
                find_test_statements(group.stream(), depth + 1, found);
            }
            _ => {}
        }
    }
}

/// Skips a statement, with the mark that ends it; returns where it ends.
fn skip_statement(tokens: &mut Peekable<impl Iterator<Item = TokenTree>>) -> Option<usize> {
    let is_let = matches!(tokens.peek(), Some(TokenTree::Ident(word)) if word == "let");
    let mut end = None;
    while let Some(token) = tokens.next() {
        let (token_end, is_block) = match &token {
            TokenTree::Group(group) => (
                group.span_close().byte_range().end,
                group.delimiter() == Delimiter::Brace,
            ),
            token => (token.span().byte_range().end, false),
        };
        end = Some(token_end);
        let is_mark =
            matches!(&token, TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ','));
        let mut continues = || match tokens.peek() {
            Some(TokenTree::Punct(mark)) => matches!(mark.as_char(), ';' | ',' | '.' | '?'),
            Some(TokenTree::Ident(word)) => word == "else",
            _ => false,
        };
        if is_mark || (is_block && !is_let && !continues()) {
            break;
        }
    }
    end
}
