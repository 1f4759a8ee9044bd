//! Splits a JSON document that arrives in pieces into values that are small enough to be parsed whole.
//!
//! The values are the members of the root object, the elements of its arrays, the elements of a root array,
//! and the members of SARIF's runs. A report of any length is thus read in the memory of its longest entry,
//! and a truncated one yields every entry before its end.
//!
//! Invariant: the result does not depend on how the document is split into pieces.

use memchr::memchr2;

/// Maximum size of a value; a longer one is [`JsonFragment::Oversized`].
const VALUE_BYTES: usize = 1 << 20;
/// How deep containers may be nested.
const DEPTH: usize = 128;
/// The longest key.
const KEY_BYTES: usize = 200;
/// The array whose elements are split like a root object: SARIF's.
const RUNS: &str = "runs";
/// Root objects that begin with one of these keys are one entry each: their values belong together.
const ENTRIES: [&str; 4] = ["reason", "file", "type", "cell"];

/// A fragment of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonFragment<'a> {
    /// The first key of the root object, or of the first element of a root array.
    FirstKey(&'a str),
    /// A value: the key of its member or array, and its text.
    Value(&'a str, &'a [u8]),
    /// A value under this key that exceeds the size limit.
    Oversized(&'a str),
}

/// State of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonProgress {
    Open,
    /// It ended after this many bytes of the piece.
    Ended,
    /// It is not valid JSON.
    Broken,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum JsonLexState {
    #[default]
    Outside,
    String,
    /// After a backslash in a string.
    Escape,
    /// A number or a word.
    Bare,
}

/// Splits one document.
#[derive(Debug, Default)]
pub(super) struct JsonStreamSplitter {
    /// The open containers; those below `outer` are split, the content of the others is kept whole.
    stack: Vec<u8>,
    outer: usize,
    /// The key of each member that is open in the outer containers.
    keys: Vec<String>,
    lex_state: JsonLexState,
    /// Whether the current string is a key of an outer object.
    in_key: bool,
    wants_key: bool,
    value: Vec<u8>,
    in_value: bool,
    is_oversized: bool,
    /// Whether the first key was emitted.
    begun: bool,
    ended: bool,
}

impl JsonStreamSplitter {
    /// Reads a piece of the document.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        emit: &mut impl FnMut(JsonFragment<'_>),
    ) -> JsonProgress {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.ended {
                return JsonProgress::Ended;
            }
            let taken = match self.lex_state {
                JsonLexState::String => {
                    let end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                    self.keep(&bytes[..end]);
                    if end == 0 {
                        self.keep(&bytes[..1]);
                        if byte == b'\\' {
                            self.lex_state = JsonLexState::Escape;
                        } else {
                            self.end_string(emit);
                        }
                    }
                    end.max(1)
                }
                JsonLexState::Escape => {
                    self.keep(&bytes[..1]);
                    self.lex_state = JsonLexState::String;
                    1
                }
                JsonLexState::Bare if is_bare(byte) => {
                    self.keep(&bytes[..1]);
                    1
                }
                JsonLexState::Bare => {
                    self.lex_state = JsonLexState::Outside;
                    self.end_value(emit);
                    0
                }
                JsonLexState::Outside => {
                    if !self.handle_structural_byte(byte, emit) {
                        return JsonProgress::Broken;
                    }
                    1
                }
            };
            bytes = if taken == 1 { rest } else { &bytes[taken..] };
        }
        if self.ended {
            JsonProgress::Ended
        } else {
            JsonProgress::Open
        }
    }

    /// Reads a byte that is not part of a string or a word; false if it is not allowed there.
    fn handle_structural_byte(
        &mut self,
        byte: u8,
        emit: &mut impl FnMut(JsonFragment<'_>),
    ) -> bool {
        match byte {
            b'{' | b'[' => return self.open(byte),
            b'}' | b']' => return self.close(byte, emit),
            b'"' => {
                self.in_key = self.is_outer() && self.wants_key;
                if self.in_key {
                    self.value.clear();
                } else {
                    self.begin_value();
                }
                self.keep(b"\"");
                self.lex_state = JsonLexState::String;
            }
            b',' | b':' => {
                if self.is_outer() {
                    self.wants_key = byte == b',' && self.stack.last() == Some(&b'{');
                }
                self.keep(&[byte]);
            }
            b' ' | b'\t' | b'\n' | b'\r' => self.keep(&[byte]),
            b'0'..=b'9' | b'-' | b't' | b'f' | b'n' if !(self.is_outer() && self.wants_key) => {
                self.begin_value();
                self.keep(&[byte]);
                self.lex_state = JsonLexState::Bare;
            }
            _ => return false,
        }
        // Only a container may be the root.
        !self.stack.is_empty()
    }

    fn open(&mut self, byte: u8) -> bool {
        if self.is_outer() && self.wants_key || self.stack.len() == DEPTH {
            return false;
        }
        if self.is_outer() && !self.in_value && self.is_cut_up(byte) {
            self.outer += 1;
            self.keys.push(String::new());
            self.wants_key = byte == b'{';
        } else {
            self.begin_value();
            self.keep(&[byte]);
        }
        self.stack.push(byte);
        true
    }

    fn close(&mut self, byte: u8, emit: &mut impl FnMut(JsonFragment<'_>)) -> bool {
        let expected = if byte == b'}' { b'{' } else { b'[' };
        if self.stack.pop() != Some(expected) {
            return false;
        }
        if self.in_value {
            self.keep(&[byte]);
            self.end_value(emit);
        } else {
            self.outer -= 1;
            self.keys.pop();
            self.wants_key = false;
        }
        self.ended = self.stack.is_empty();
        true
    }

    /// Whether a container that begins here is split.
    fn is_cut_up(&self, byte: u8) -> bool {
        match self.outer {
            0 => true,
            1 => byte == b'[' && self.stack.first() == Some(&b'{'),
            2 => byte == b'{' && self.keys.first().is_some_and(|key| key == RUNS),
            3 => byte == b'[',
            _ => false,
        }
    }

    /// Whether the next value is in a container that is split.
    fn is_outer(&self) -> bool {
        self.stack.len() == self.outer
    }

    fn begin_value(&mut self) {
        if !self.in_value {
            self.in_value = true;
            self.is_oversized = false;
            self.value.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (most, keep) = if self.in_key {
            (KEY_BYTES, true)
        } else {
            (VALUE_BYTES, self.in_value && !self.is_oversized)
        };
        if keep && self.value.len() + bytes.len() <= most {
            self.value.extend_from_slice(bytes);
        } else if self.in_value {
            self.is_oversized = true;
        }
    }

    fn end_string(&mut self, emit: &mut impl FnMut(JsonFragment<'_>)) {
        self.lex_state = JsonLexState::Outside;
        if !std::mem::take(&mut self.in_key) {
            if !self.begun && self.stack == b"[{" {
                self.begun = true;
                emit(JsonFragment::FirstKey(
                    first_key(&self.value).unwrap_or_default(),
                ));
            }
            self.end_value(emit);
            return;
        }
        self.wants_key = false;
        let key = String::from_utf8_lossy(&self.value);
        let key = key.strip_prefix('"').unwrap_or(&key);
        let key = key.strip_suffix('"').unwrap_or(key).to_owned();
        if !std::mem::replace(&mut self.begun, true) {
            emit(JsonFragment::FirstKey(&key));
        }
        if self.outer == 1 && self.keys[0].is_empty() && ENTRIES.contains(&key.as_str()) {
            // The object itself is the value, and this is the beginning of its text.
            self.outer = 0;
            self.keys.clear();
            self.in_value = true;
            self.is_oversized = false;
            self.value = format!("{{\"{key}\"").into_bytes();
        } else if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
    }

    /// Ends a value, unless only a part of it ended.
    fn end_value(&mut self, emit: &mut impl FnMut(JsonFragment<'_>)) {
        if !self.in_value || self.stack.len() > self.outer {
            return;
        }
        self.in_value = false;
        let key = self.keys.iter().rev().find(|key| !key.is_empty());
        let key = key.map_or("", String::as_str);
        emit(if self.is_oversized {
            JsonFragment::Oversized(key)
        } else {
            JsonFragment::Value(key, &self.value)
        });
    }
}

/// The first key of an object, if it needs no unescaping.
pub(super) fn first_key(object: &[u8]) -> Option<&str> {
    let rest = object.strip_prefix(b"{")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', rest)?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// Whether a byte may be part of a number, `true`, `false` or `null`.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values, and the final state of the document.
    fn cut(pieces: &[&[u8]]) -> (Vec<(String, String)>, JsonProgress) {
        let mut out = Vec::new();
        let mut cutter = JsonStreamSplitter::default();
        let mut progress = JsonProgress::Open;
        let mut emit = |cut: JsonFragment<'_>| {
            let (key, value) = match cut {
                JsonFragment::FirstKey(key) => ("first", key.to_owned()),
                JsonFragment::Value(key, value) => {
                    (key, String::from_utf8_lossy(value).into_owned())
                }
                JsonFragment::Oversized(key) => (key, "lost".to_owned()),
            };
            out.push((key.to_owned(), value));
        };
        for piece in pieces {
            progress = cutter.feed(piece, &mut emit);
            if progress != JsonProgress::Open {
                break;
            }
        }
        (out, progress)
    }

    fn values(text: &str) -> Vec<String> {
        let (whole, progress) = cut(&[text.as_bytes()]);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!((whole.clone(), progress), cut(&bytes), "{text}");
        whole
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }

    #[test]
    fn json_splitter_returns_members_and_elements() {
        assert_eq!(
            values(r#"{"a": 1, "b\"": [{"c": [2]}, "d]"], "e": {"f": {}}, "g": []}"#),
            [
                "first=a",
                "a=1",
                r#"b\"={"c": [2]}"#,
                r#"b\"="d]""#,
                r#"e={"f": {}}"#
            ]
        );
        assert_eq!(
            values("[{\"a\": [1]}, [2], true]"),
            ["first=a", "={\"a\": [1]}", "=[2]", "=true"]
        );
        assert_eq!(
            values(r#"{"runs": [{"tool": {"a": 1}, "results": [{"b": 2}, {"c": 3}]}]}"#),
            [
                "first=runs",
                r#"tool={"a": 1}"#,
                r#"results={"b": 2}"#,
                r#"results={"c": 3}"#
            ]
        );
    }

    #[test]
    fn json_splitter_keeps_whole_entries() {
        let text = r#"{"reason":"x","target":{"a":[1]}}"#;
        assert_eq!(values(text), ["first=reason", &format!("={text}")]);
    }

    #[test]
    fn json_splitter_keeps_values_of_truncated_document() {
        assert_eq!(values(r#"[{"a":1},{"b":"#), ["first=a", r#"={"a":1}"#]);
        assert_eq!(cut(&[b"[{\"a\":1},{"]).1, JsonProgress::Open);
    }

    #[test]
    fn json_splitter_loses_only_too_long_value() {
        let long = "x".repeat(VALUE_BYTES);
        let text = format!(r#"{{"a":["{long}",1]}}"#);
        assert_eq!(values(&text), ["first=a", "a=lost", "a=1"]);
    }

    #[test]
    fn json_splitter_rejects_other_text_early() {
        for text in ["{ return 1", "[INFO] x", "{\"a\":1]", "{{", "[1,2}"] {
            assert_eq!(cut(&[text.as_bytes()]).1, JsonProgress::Broken, "{text}");
        }
        assert_eq!(
            cut(&["[".repeat(DEPTH + 1).as_bytes()]).1,
            JsonProgress::Broken
        );
    }
}
