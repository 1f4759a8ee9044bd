//! Compares the estimated cost of texts with the real o200k tokenizer: the estimate is never below the true
//! cost, whatever the text.

use proptest::prelude::*;
use selvedge_digest::{Analysis, CommandStatus, DigestBudget, Hints, analyse, estimate_tokens};
use tiktoken_rs::o200k_base_singleton;

use crate::recorded::{log, names};

/// The length of the pieces of logs that are counted, in bytes.
const PIECE: usize = 700;

fn real(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

/// Fails if `text` costs more than estimated. Returns both counts.
fn check(text: &str) -> (usize, usize) {
    let (estimated, real) = (estimate_tokens(text), real(text));
    assert!(
        estimated >= real,
        "{estimated} for {real} tokens of {text:?}"
    );
    (estimated, real)
}

#[test]
fn estimate_is_never_below_real_count_nor_far_above() {
    let (mut all_estimated, mut all_real) = (0, 0);
    for name in names() {
        let log = log(&name);
        // Only the first and the last pieces, because some logs are large.
        let pieces = log.chunks(PIECE);
        for piece in pieces.clone().take(4).chain(pieces.last()) {
            let (estimated, real) = check(&String::from_utf8_lossy(piece));
            all_estimated += estimated;
            all_real += real;
        }
    }
    assert!(
        all_estimated * 100 <= all_real * 115,
        "{all_estimated} for {all_real}"
    );
}

#[test]
fn digest_never_exceeds_its_budget() {
    let hold = |name: &str, analysis: &Analysis| {
        for tokens in [20, 100, 500, 2000] {
            let digest = analysis.render(DigestBudget::tokens(tokens));
            let (_, real) = check(&digest.text);
            assert!(real <= tokens, "{name}: {real} of {tokens}");
        }
    };
    let mut all = Vec::new();
    for name in names() {
        let log = log(&name);
        hold(
            &name,
            &analyse(&log, Hints::default(), CommandStatus::Code(1)),
        );
        all.extend(log);
    }
    hold(
        "all",
        &analyse(&all, Hints::default(), CommandStatus::Code(1)),
    );
}

/// Words and separators in the alphabets, marks and spaces that tokenizers distinguish.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,300}",
        r"[ -~\n\t]{0,300}",
        r"(?:[A-Za-z']{1,12}[ ./:_=-]{1,3}[0-9]{0,8}){0,40}",
        r"(?:\PC{1,3}[ \r\n\t]{1,4}){0,60}",
        r"(?:[A-Z][a-z]{2,9}|[a-zà-ž]{1,6}|[а-яА-Я]{1,9}|[一-鿿]{1,5}|[😀-🙏]|\s){0,60}",
    ]
}

proptest! {
    #[test]
    fn estimate_is_never_below_real_count_of_any_text(text in texts()) {
        check(&text);
        prop_assert!(estimate_tokens(&text) <= text.len());
    }
}
