//! The forms in which a known value may appear: unchanged, and in the encodings that tools use. Base64 or hex may be
//! broken into lines, as `base64` and `xxd` print it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::MatchExtent;
use super::prefix_matcher::KEY_BYTES;

/// Minimum number of bytes between two line breaks of an encoded text.
const MIN_LINE_BYTES: usize = 16;

/// One form of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EncodedForm {
    bytes: Vec<u8>,
    /// Whether it may contain line breaks.
    broken: bool,
}

/// All forms of a value; some may be equal.
pub(super) fn encoded_forms(value: &[u8]) -> Vec<EncodedForm> {
    let mut forms: Vec<EncodedForm> = [value.to_vec(), json(value), json(&json(value))]
        .into_iter()
        .chain(slashed(value))
        .chain(percent(value))
        .map(|bytes| EncodedForm {
            bytes,
            broken: false,
        })
        .collect();
    let encoded = (0..3)
        .flat_map(|shift| [true, false].map(|standard| base64(value, shift, standard)))
        .chain([true, false].map(|upper| hex(value, upper, "")));
    // Separators that `od`, `hexdump` and `openssl` use.
    let parted = [" ", ":"].into_iter();
    let parted = parted.flat_map(|parts| [true, false].map(|upper| hex(value, upper, parts)));
    forms.extend(parted.map(|bytes| EncodedForm {
        bytes,
        broken: false,
    }));
    for bytes in encoded {
        // If a line break is inside the key, the bytes after it identify the rest.
        if bytes.len() >= 2 * MIN_LINE_BYTES + KEY_BYTES {
            let bytes = bytes[KEY_BYTES..].to_vec();
            forms.push(EncodedForm {
                bytes,
                broken: true,
            });
        }
        forms.push(EncodedForm {
            bytes,
            broken: true,
        });
    }
    forms
}

impl EncodedForm {
    /// The bytes that identify its start.
    pub(super) fn key(&self) -> Option<[u8; KEY_BYTES]> {
        self.bytes.first_chunk().copied()
    }

    pub(super) fn reach(&self, text: &[u8], over: bool) -> MatchExtent {
        let Some(to) = self.end_in(text) else {
            return MatchExtent::NoMatch;
        };
        match to {
            FormEnd::At(to) => MatchExtent::Match {
                from: 0,
                to,
                continuation: None,
            },
            FormEnd::Undecided if over => MatchExtent::NoMatch,
            FormEnd::Undecided => MatchExtent::Undecided,
        }
    }

    /// The end of the form at the start of the text; `None` if the text does not begin with it.
    fn end_in(&self, text: &[u8]) -> Option<FormEnd> {
        if !self.broken {
            let common = self.bytes.len().min(text.len());
            let begins = text[..common] == self.bytes[..common];
            return begins.then_some(if common == self.bytes.len() {
                FormEnd::At(common)
            } else {
                FormEnd::Undecided
            });
        }
        let (mut at, mut since_break) = (0, MIN_LINE_BYTES);
        for byte in &self.bytes {
            if since_break >= MIN_LINE_BYTES {
                match line_break(&text[at..]) {
                    LineBreak::None => {}
                    LineBreak::Undecided => return Some(FormEnd::Undecided),
                    // There is no line break at the very beginning.
                    LineBreak::Length(length) if at > 0 => {
                        at += length;
                        since_break = 0;
                    }
                    LineBreak::Length(_) => return None,
                }
            }
            match text.get(at) {
                None => return Some(FormEnd::Undecided),
                Some(found) if found == byte => at += 1,
                Some(_) => return None,
            }
            since_break += 1;
        }
        Some(FormEnd::At(at))
    }
}

enum FormEnd {
    At(usize),
    Undecided,
}

enum LineBreak {
    None,
    Length(usize),
    Undecided,
}

/// Parses a line break at the start of a text, unescaped or escaped.
fn line_break(text: &[u8]) -> LineBreak {
    const BREAKS: [&[u8]; 4] = [b"\r\n", b"\n", br"\r\n", br"\n"];
    for line_break in BREAKS {
        if text.starts_with(line_break) {
            return LineBreak::Length(line_break.len());
        }
        if line_break.starts_with(text) && !text.is_empty() {
            return LineBreak::Undecided;
        }
    }
    LineBreak::None
}

/// Encodes it as the content of a JSON string.
fn json(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'"' | b'\\' => escaped.extend([b'\\', byte]),
            b'\n' => escaped.extend(br"\n"),
            b'\r' => escaped.extend(br"\r"),
            b'\t' => escaped.extend(br"\t"),
            0x08 => escaped.extend(br"\b"),
            0x0c => escaped.extend(br"\f"),
            ..0x20 => escaped.extend(format!("\\u{byte:04x}").bytes()),
            _ => escaped.push(byte),
        }
    }
    escaped
}

/// Encodes it as the content of a JSON string with optional escapes: slashes, `<`, `>`, `&` and `'`, or everything that
/// is not ASCII.
fn slashed(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    let text = String::from_utf8_lossy(&json(value)).into_owned();
    forms.push(text.replace('/', "\\/").into_bytes());
    let escape = |is_escaped: fn(char) -> bool| -> Vec<u8> {
        let mut escaped = String::new();
        for c in text.chars() {
            if is_escaped(c) {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                escaped.push(c);
            }
        }
        escaped.into_bytes()
    };
    forms.push(escape(|c| matches!(c, '<' | '>' | '&')));
    forms.push(escape(|c| matches!(c, '<' | '>' | '&' | '\'')));
    forms.push(escape(|c| !c.is_ascii()));
    forms
}

/// Encodes it as a part of a URL in all variants: leaving only letters and digits, slashes, or the marks of
/// `encodeURIComponent` unencoded; with upper-case and lower-case digits; with `+` for a space; and with every byte
/// encoded.
fn percent(value: &[u8]) -> Vec<Vec<u8>> {
    const KEPT: [&[u8]; 5] = [
        b"",
        b"-_.~",
        b"-_.~/",
        b"-_.!~*'()",
        b"-_.!~*'();/?:@&=+$,#",
    ];
    let encode = |kept: &dyn Fn(u8) -> bool, upper: bool, plus: bool| -> Vec<u8> {
        let mut encoded = Vec::new();
        for &byte in value {
            match byte {
                b' ' if plus => encoded.push(b'+'),
                byte if kept(byte) => encoded.push(byte),
                byte if upper => encoded.extend(format!("%{byte:02X}").bytes()),
                byte => encoded.extend(format!("%{byte:02x}").bytes()),
            }
        }
        encoded
    };
    let mut forms = Vec::new();
    for upper in [true, false] {
        for kept in KEPT {
            let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
            forms.push(encode(&is_kept, upper, false));
        }
        let in_a_form = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
        forms.push(encode(&in_a_form, upper, true));
        forms.push(encode(&|_| false, upper, false));
    }
    forms
}

/// The characters that depend only on the value, if `shift` bytes of other text precede it in the group of three of its
/// first byte.
fn base64(value: &[u8], shift: usize, standard: bool) -> Vec<u8> {
    let mut shifted = vec![0; shift];
    shifted.extend_from_slice(value);
    let encoded = if standard {
        STANDARD_NO_PAD.encode(&shifted)
    } else {
        URL_SAFE_NO_PAD.encode(&shifted)
    };
    // A character has six bits: characters with bits of the bytes before or after are removed.
    let first = (shift * 8).div_ceil(6);
    let last = shifted.len() * 8 / 6;
    encoded.into_bytes().drain(first..last).collect()
}

fn hex(value: &[u8], upper: bool, parted_by: &str) -> Vec<u8> {
    let digits = |byte: &u8| {
        if upper {
            format!("{byte:02X}")
        } else {
            format!("{byte:02x}")
        }
    };
    let digits: Vec<_> = value.iter().map(digits).collect();
    digits.join(parted_by).into_bytes()
}
