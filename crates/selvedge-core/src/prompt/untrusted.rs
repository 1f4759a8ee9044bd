//! Text of tools and agents in prompts: no line that a reader could mistake for ours, and truncated to a budget with a
//! marker.

use selvedge_digest::estimate_tokens;

use crate::sanitize::sanitize_text;

/// One line of at most `limit` characters, and of no more tokens than such a line of English has.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let flat = sanitize_text(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let budget = limit.div_ceil(CHARS_A_TOKEN);
    if flat.chars().count() <= limit && estimate_tokens(&flat) <= budget {
        return flat;
    }
    let mut kept: String = flat.chars().take(limit.saturating_sub(1)).collect();
    while estimate_tokens(&kept) >= budget && kept.pop().is_some() {}
    kept.push('…');
    kept
}

/// Minimum number of characters per token in ordinary text: other scripts get fewer characters instead of more tokens.
const CHARS_A_TOKEN: usize = 2;

/// The marker at the end of truncated text.
const CUT: &str = "… (cut)";

/// The beginning of a text, as whole lines, within a budget of tokens.
pub(super) fn head_within(text: &str, tokens: usize) -> String {
    if estimate_tokens(text) <= tokens {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = tokens.saturating_sub(estimate_tokens(CUT));
    for line in text.lines() {
        // A line with its line break, counted separately: never fewer tokens than within the whole text.
        let cost = estimate_tokens(line) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        kept.push_str(line);
        kept.push('\n');
    }
    kept.push_str(CUT);
    kept
}

/// The beginnings of several texts within one budget, in fair shares: tokens that one text does not need go to the
/// others, before or after it.
pub(super) fn heads_within(texts: &[String], tokens: usize) -> Vec<String> {
    let mut shortest_first: Vec<(usize, &String)> = texts.iter().enumerate().collect();
    shortest_first.sort_by_cached_key(|(_, text)| estimate_tokens(text));
    let mut remaining = tokens;
    let mut waiting = texts.len();
    let mut heads: Vec<(usize, String)> = Vec::new();
    for (index, text) in shortest_first {
        let head = head_within(text, remaining / waiting.max(1));
        remaining = remaining.saturating_sub(estimate_tokens(&head));
        waiting = waiting.saturating_sub(1);
        heads.push((index, head));
    }
    heads.sort_by_key(|(index, _)| *index);
    heads.into_iter().map(|(_, head)| head).collect()
}

/// The end of a text within a number of characters and a budget of tokens.
pub(super) fn tail_within(text: &str, chars: usize, tokens: usize) -> String {
    let mut tail: Vec<char> = text.trim_end().chars().rev().take(chars).collect();
    tail.reverse();
    let mut from = 0;
    loop {
        let text: String = tail.get(from..).unwrap_or_default().iter().collect();
        if estimate_tokens(&text) <= tokens {
            return text;
        }
        // A third at a time: a budget this small is met in a few steps.
        from += (tail.len() - from).div_ceil(3);
    }
}

/// A delimiter that occurs in none of the enclosed texts, so that none of them can close it.
pub(super) fn fence<'a>(seed: u64, bodies: &(impl Iterator<Item = &'a str> + Clone)) -> String {
    let mut nonce = seed;
    loop {
        // A fixed-width hexadecimal word, spread by an odd multiplier so that neighbours differ.
        nonce = nonce.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let fence = format!("UNTRUSTED-{:08x}", nonce >> 32);
        if !bodies.clone().any(|body| body.contains(&fence)) {
            return fence;
        }
    }
}
