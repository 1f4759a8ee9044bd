//! Byte-pair encoding with the head of the o200k vocabulary.
//!
//! Byte-pair encoding joins the pair of the lowest rank first, and a joined token only takes part in joins of
//! a higher rank. Joining with only the tokens up to some rank therefore stops on the way to the true result:
//! it never counts fewer tokens than the whole vocabulary would.
//!
//! `o200k_head.bin` holds the tokens of more than one byte in the order of their ranks, each as
//! its length and its bytes: those of ASCII up to rank 100,000, others up to 16,384. It was made
//! from the vocabulary that `tiktoken` publishes under the MIT licence.

use std::sync::OnceLock;

use crate::hash::QuickMap;

static HEAD: &[u8] = include_bytes!("o200k_head.bin");

/// A longer piece is counted in parts, so that the count takes linear time in its length.
const PART_BYTES: usize = 128;

type TokenRanks = QuickMap<&'static [u8], u32>;

fn ranks() -> &'static TokenRanks {
    static RANKS: OnceLock<TokenRanks> = OnceLock::new();
    RANKS.get_or_init(|| {
        let mut ranks = TokenRanks::default();
        ranks.reserve(72_000);
        let mut rest = HEAD;
        let mut rank = 0;
        while let Some((&length, tail)) = rest.split_first() {
            let Some((token, tail)) = tail.split_at_checked(usize::from(length)) else {
                break;
            };
            ranks.insert(token, rank);
            rank += 1;
            rest = tail;
        }
        ranks
    })
}

/// Upper bound of the tokens of one piece.
pub(super) fn count(piece: &str) -> usize {
    piece.as_bytes().chunks(PART_BYTES).map(count_part).sum()
}

fn count_part(part: &[u8]) -> usize {
    let ranks = ranks();
    if part.len() <= 1 || ranks.contains_key(part) {
        return usize::from(!part.is_empty());
    }
    // `ends[i]` is the end of the i-th token; tokens are joined by removing an end.
    let mut ends: Vec<usize> = (1..=part.len()).collect();
    loop {
        let mut best: Option<(u32, usize)> = None;
        let mut start = 0;
        for (index, pair) in ends.windows(2).enumerate() {
            let rank = ranks.get(&part[start..pair[1]]).copied();
            if let Some(rank) = rank.filter(|rank| best.is_none_or(|(least, _)| *rank < least)) {
                best = Some((rank, index));
            }
            start = pair[0];
        }
        match best {
            Some((_, index)) => ends.remove(index),
            None => return ends.len(),
        };
    }
}
