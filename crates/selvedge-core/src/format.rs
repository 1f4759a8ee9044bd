//! Durations, counts, sizes, names and hashes in human-readable form, and percent-encoded text.

/// "350 ms", "4.2 s", "1 min 12 s", "2 h 5 min".
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{seconds}.{} s", millis % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A count and its noun: "1 check", "3 checks".
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", grouped(count))
    }
}

/// "512 bytes", "2.0 MiB".
pub fn bytes(count: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => {
            let tenths = u128::from(count) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => counted(count, "byte"),
    }
}

/// The first few names, and the number of further ones. Names are never cut; long ones are fewer, because the line that
/// they are in may be.
pub fn first_names(names: &[String]) -> String {
    const MAX_NAMED: usize = 5;
    const MAX_CHARS: usize = 160;
    let mut chars = 0;
    let first = names
        .iter()
        .take(MAX_NAMED)
        .enumerate()
        .take_while(|(at, name)| {
            chars += name.chars().count();
            *at == 0 || chars <= MAX_CHARS
        });
    let first: Vec<&str> = first.map(|(_, name)| name.as_str()).collect();
    match names.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The non-empty lines of a reason that another machine sent, in one line of at most 1,000 characters.
pub fn reason_line(text: &str) -> String {
    const MAX_CHARS: usize = 1_000;
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("; ").chars().take(MAX_CHARS).collect()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// Percent-encodes everything except ASCII letters, ASCII digits and the bytes in `plain`.
pub fn percent_encode(text: &str, plain: &[u8]) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(encode).collect()
}

/// "1,234,567".
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_amounts() {
        let shown: Vec<_> = [7, 4_250, 41_000, 72_000, 7_500_000].map(duration).into();
        assert_eq!(shown, ["7 ms", "4.2 s", "41 s", "1 min 12 s", "2 h 5 min"]);
        assert_eq!(
            [1, 999, 1000, 1_234_567].map(grouped),
            ["1", "999", "1,000", "1,234,567"]
        );
        assert_eq!(hex(&[0, 7, 0xab]), "0007ab");
        assert_eq!(percent_encode("a b/ü", b"/"), "a%20b/%C3%BC");
    }

    #[test]
    fn first_names_are_never_cut() {
        let names = |length: usize, count: usize| vec!["x".repeat(length); count];
        assert_eq!(first_names(&names(1, 2)), "x, x");
        assert_eq!(first_names(&names(1, 7)), "x, x, x, x, x and 2 more");
        let long = "x".repeat(100);
        assert_eq!(first_names(&names(100, 3)), format!("{long} and 2 more"));
        let longest = "x".repeat(500);
        assert_eq!(first_names(&names(500, 1)), longest);
    }

    #[test]
    fn reason_line_has_one_line_and_a_limit() {
        assert_eq!(reason_line("a\n\n  b \r\nc"), "a; b; c");
        let long = "é\n".repeat(5_000);
        assert_eq!(reason_line(&long).chars().count(), 1_000);
    }
}
