//! Removes secrets from text that is stored, shown or sent: known values, in all common encodings, and everything that
//! has the format of a well-known kind of key. The module is pure: its callers decide which values are secret, and
//! which streams are redacted.
//!
//! Two scans find short *keys*: the prefixes of the formats, and the first bytes of each form of a value. The text
//! after a key decides whether it is a match. Thus neither scan depends on the length of the secrets, and text without
//! a key costs little more than reading it. Lines with characters that are not shown are also searched without them.

mod formats;
mod forms;
mod json;
mod prefix_matcher;
mod secret_names;
mod stream;
mod visible;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use self::formats::{FORMATS, KeyFormat, OpenMatch};
use self::forms::{EncodedForm, encoded_forms};
pub use self::json::RedactError;
use self::prefix_matcher::{KEY_BYTES, PrefixMatcher};
pub use self::secret_names::{
    is_secret_name, is_worth_redacting, parse_header_list, secrets_in_value,
};
pub use self::visible::RedactionStream;

/// Minimum length of a secret, in bytes: a value like `1` would be redacted everywhere.
pub const MIN_SECRET_BYTES: usize = 8;

/// A value that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The name in its replacement: `[redacted:NAME]`.
    pub name: String,
    /// The value itself.
    pub value: Vec<u8>,
}

impl Secret {
    /// Creates a secret from the name in its replacement and its value.
    pub fn new(name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({})", self.name)
    }
}

/// Finds secrets. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    compiled: Arc<CompiledPatterns>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Redactor({} forms)", self.compiled.needles.len())
    }
}

impl Default for Redactor {
    /// Creates a redactor that only knows the well-known formats.
    fn default() -> Self {
        static FORMATS_ONLY: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[]));
        FORMATS_ONLY.clone()
    }
}

/// A form of a value, with the value's name.
struct Needle {
    name: Arc<str>,
    form: EncodedForm,
}

struct CompiledPatterns {
    matcher: PrefixMatcher,
    needles: Vec<Needle>,
    /// For each key of the prefix matcher, the needles that begin with it.
    needles_by_key: Vec<Vec<usize>>,
    /// All keys, sorted: those of values and of formats.
    keys: Vec<Vec<u8>>,
}

/// The prefixes of the formats.
struct FormatPrefixes {
    /// Skips text without a prefix quickly, but is slow to start. `None` if it cannot be built, which does not occur.
    scanning: Option<AhoCorasick>,
    /// Starts fast, but is slow to skip text.
    anchored: Option<AhoCorasick>,
    /// Length of the longest prefix, in bytes.
    longest: usize,
    /// For each format, the formats whose prefix is a prefix of its own, including itself.
    shorter: Vec<Vec<usize>>,
}

/// Maximum distance after a prefix within which the next one counts as near.
const MAX_NEAR_BYTES: usize = 128;

impl FormatPrefixes {
    /// Finds the first prefix from a position on, with its format. After a match, as in output full of links, the next
    /// one is usually near.
    fn find(&self, text: &[u8], from: usize, is_first: bool) -> Option<(usize, usize)> {
        let mut from = from;
        if !is_first {
            let end = text.len().min(from + MAX_NEAR_BYTES + self.longest);
            let hit = self
                .anchored
                .as_ref()?
                .find(Input::new(text).range(from..end));
            // A prefix that begins after the limit may be truncated.
            if let Some(hit) = hit.filter(|hit| hit.start() < from + MAX_NEAR_BYTES) {
                return Some((hit.start(), hit.pattern().as_usize()));
            }
            from = text.len().min(from + MAX_NEAR_BYTES);
        }
        let hit = self
            .scanning
            .as_ref()?
            .find(Input::new(text).range(from..))?;
        Some((hit.start(), hit.pattern().as_usize()))
    }
}

static PREFIXES: LazyLock<FormatPrefixes> = LazyLock::new(|| {
    let mut automaton = AhoCorasick::builder();
    automaton.match_kind(MatchKind::LeftmostLongest);
    let prefixes = || FORMATS.iter().map(|it| it.prefix);
    let within = |one: &KeyFormat| {
        let begins = |(_, other): &(usize, &KeyFormat)| one.prefix.starts_with(other.prefix);
        let all = FORMATS.iter().enumerate().filter(begins);
        all.map(|(index, _)| index).collect()
    };
    FormatPrefixes {
        scanning: automaton.build(prefixes()).ok(),
        anchored: automaton
            .prefilter(false)
            .kind(Some(AhoCorasickKind::DFA))
            .build(prefixes())
            .ok(),
        longest: prefixes().map(str::len).max().unwrap_or(0),
        shorter: FORMATS.iter().map(within).collect(),
    }
});

/// Result of matching a needle at one of its keys.
enum MatchExtent {
    /// It does not match.
    NoMatch,
    /// More text is needed.
    Undecided,
    /// It matches.
    Match {
        /// The first byte that is secret, counted from the key.
        from: usize,
        /// The first byte that is not; `continuation` follows it.
        to: usize,
        /// Its further bytes, byte by byte.
        continuation: Option<OpenMatch>,
    },
}

impl Redactor {
    /// Creates a redactor for these values and all well-known formats. Values shorter than [`MIN_SECRET_BYTES`] are
    /// ignored.
    pub fn new(secrets: &[Secret]) -> Self {
        let mut needles = Vec::new();
        let mut seen = BTreeSet::new();
        for secret in secrets
            .iter()
            .filter(|it| it.value.len() >= MIN_SECRET_BYTES)
        {
            let name: Arc<str> = sanitize_name(&secret.name).into();
            for form in encoded_forms(&secret.value) {
                if seen.insert(form.clone()) {
                    let name = Arc::clone(&name);
                    needles.push(Needle { name, form });
                }
            }
        }
        Self {
            compiled: Arc::new(CompiledPatterns::new(needles)),
        }
    }

    /// Redacts a whole text.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    /// Redacts a whole text.
    pub fn redact_bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut stream = self.stream();
        let mut kept = Vec::new();
        let mut room = Vec::new();
        kept.extend_from_slice(stream.push(text, &mut room));
        stream.finish(&mut kept);
        if kept == text {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(kept)
        }
    }

    /// The name of a known value that a text contains, in any form.
    pub fn find_known_value(&self, text: &str) -> Option<String> {
        self.stream().find_known_value(text.as_bytes())
    }

    /// Creates a stream that is redacted piece by piece.
    pub fn stream(&self) -> RedactionStream {
        RedactionStream::new(Arc::clone(&self.compiled))
    }
}

impl CompiledPatterns {
    fn new(needles: Vec<Needle>) -> Self {
        let mut by_key: BTreeMap<[u8; KEY_BYTES], Vec<usize>> = BTreeMap::new();
        for (index, needle) in needles.iter().enumerate() {
            // A form is at least as long as the value.
            if let Some(key) = needle.form.key() {
                by_key.entry(key).or_default().push(index);
            }
        }
        let prefixes = FORMATS.iter().map(|it| it.prefix.as_bytes().to_vec());
        let mut keys: Vec<Vec<u8>> = by_key.keys().map(|key| key.to_vec()).collect();
        keys.extend(prefixes);
        keys.sort_unstable();
        Self {
            matcher: PrefixMatcher::new(by_key.keys().copied().collect()),
            needles_by_key: by_key.into_values().collect(),
            needles,
            keys,
        }
    }

    /// The first position near the end of a text at which an incomplete key may begin.
    fn undecided(&self, text: &[u8]) -> usize {
        let from = text
            .len()
            .saturating_sub(PREFIXES.longest.max(KEY_BYTES) - 1);
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            let next = self.keys.partition_point(|key| key.as_slice() <= rest);
            self.keys.get(next).is_some_and(|key| key.starts_with(rest))
        };
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// Makes a name safe in any context: in JSON, in markup, in a log.
fn sanitize_name(name: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let sanitized: String = name.chars().filter(|c| harmless(*c)).take(64).collect();
    if sanitized.is_empty() {
        return "secret".to_owned();
    }
    sanitized
}
