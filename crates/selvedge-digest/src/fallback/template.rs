//! The template of a line: the line without its variable parts, so that repetitions are recognised.

use std::hash::Hasher;

use crate::hash::QuickHasher;

/// Minimum length of a hexadecimal word that counts as an id or an address.
const HEXADECIMAL: usize = 7;

/// A hash of the line's letters and marks. Numbers, white space and long hexadecimal words differ between
/// repetitions and are left out, except zero, because `0 failed` differs from `3 failed`.
///
/// The line is split into runs of letters and marks between numbers and white space; each run is hashed eight
/// bytes at a time.
pub(crate) fn template(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = QuickHasher::default();
    let mut at = next_word(bytes, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                let end = skip_while(bytes, at, u8::is_ascii_digit);
                if bytes[at..end] == *b"0" {
                    hash.write_u64(u64::from(b'0'));
                }
                at = end;
            }
            0..=b' ' => at = next_word(bytes, at),
            _ => {
                let eight = load_eight_bytes(bytes, at);
                let run = leading_other_bytes(eight);
                hash.write_u64(eight & u64::MAX >> (u64::BITS - run * u8::BITS));
                at += usize::try_from(run).unwrap_or(EIGHT);
            }
        }
    }
    hash.finish()
}

/// Number of bytes that are processed together.
const EIGHT: usize = 8;

/// The bytes from `at` on, the first one lowest; zero bytes follow the end of the line.
fn load_eight_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[at..];
    match (rest.first_chunk(), bytes.last_chunk()) {
        (Some(&eight), _) => u64::from_le_bytes(eight),
        (None, Some(&last)) => u64::from_le_bytes(last) >> (8 * (EIGHT - rest.len())),
        (None, None) => rest
            .iter()
            .rev()
            .fold(0, |eight, &byte| eight << 8 | u64::from(byte)),
    }
}

/// Number of leading bytes, of eight, before the first digit or white space; the first byte is neither.
fn leading_other_bytes(eight: u64) -> u32 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    // The high bit of each byte shows whether the byte is at least the limit; bytes above ASCII have it
    // anyway. With it set, nothing is borrowed from the next byte.
    let least = |byte: u8| ((eight | HIGH) - u64::from(byte) * EACH) | eight;
    let digit = least(b'0') & !least(b'9' + 1);
    let white = !least(b' ' + 1);
    (((digit | white) & HIGH).trailing_zeros() / u8::BITS).max(1)
}

/// Position of the next word, from white space or the beginning of the line on; long hexadecimal words are
/// skipped.
#[inline]
fn next_word(bytes: &[u8], from: usize) -> usize {
    let white = |&byte: &u8| byte <= b' ';
    let mut start = skip_while(bytes, from, white);
    while let Some(end) = hexadecimal_end(bytes, start) {
        start = skip_while(bytes, end, white);
    }
    start
}

/// End of the word that begins here, if it is a long hexadecimal one.
#[inline]
fn hexadecimal_end(bytes: &[u8], start: usize) -> Option<usize> {
    // Most words are shorter, or have another letter there.
    let last = bytes.get(start + HEXADECIMAL - 1)?;
    if !last.is_ascii_hexdigit() {
        return None;
    }
    let end = skip_while(bytes, start, u8::is_ascii_hexdigit);
    let whole = bytes.get(end).is_none_or(|&byte| byte <= b' ');
    (end - start >= HEXADECIMAL && whole).then_some(end)
}

/// Position after the bytes that satisfy `is`, starting at `from`.
#[inline]
fn skip_while(bytes: &[u8], from: usize, is: impl Fn(&u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn template_ignores_numbers_and_hashes() {
        assert_eq!(
            template("took 12 ms at 7f00aa11"),
            template("took 3  ms at 7f00bb22")
        );
        assert_eq!(
            template("id deadbeef01 gone"),
            template("id cafebabe99 gone")
        );
        assert_ne!(template("cannot read"), template("cannot write"));
        assert_eq!(
            template("deadbeef01"),
            template("  0123456789abcdef0123456789abcdef")
        );
        assert_ne!(template("deadbeef01:"), template("cafebabe99:"));
        assert_eq!(template("10 failed"), template("3 failed"));
        assert_ne!(template("0 failed"), template("3 failed"));
    }

    #[test]
    fn template_includes_every_letter() {
        for digits in 0..20 {
            let line =
                |end: &str| template(&format!("{}ünïcode (error) {end}", "1".repeat(digits)));
            assert_eq!(line("in 5 files"), line("in 12 files"));
            assert_ne!(line("in 5 files"), line("in 5 filet"));
            assert_ne!(line("in 5 files"), line("in 5 files."));
        }
    }
}
