//! The estimate of tokens against counts of the real o200k tokenizer, which were recorded with
//! `rs-bpe` (the tokenizer itself is too heavy even for tests).

use proptest::prelude::*;
use selvedge_digest::estimate_tokens;

include!("fixtures/o200k_counts.rs");

#[test]
fn never_below_the_real_count_and_not_far_above() {
    let (mut estimated, mut real) = (0, 0);
    for (text, count) in O200K_COUNTS {
        let estimate = estimate_tokens(text);
        assert!(
            estimate >= *count,
            "{estimate} for {count} tokens of {text:?}"
        );
        estimated += estimate;
        real += count;
    }
    assert!(estimated * 100 <= real * 125, "{estimated} for {real}");
}

proptest! {
    #[test]
    fn never_above_the_bytes(text in ".{0,300}") {
        prop_assert!(estimate_tokens(&text) <= text.len());
    }
}
