//! Secrets taken out of what is kept, shown and sent: values that are known, in every encoding that
//! they are usually met in, and whatever has the form of a well-known kind of key. Pure: who knows
//! which values are secret, and where a flow is cleaned, is said elsewhere.
//!
//! Two scans look for short *keys*: the prefixes of the formats, and the first bytes of each form of a
//! value. What stands behind a key decides. So neither depends on how long the secrets are, and text
//! without a key costs little more than reading it.

mod formats;
mod forms;
mod json;
mod prefix_matcher;
mod secret_names;
mod stream;

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
pub use self::secret_names::{is_secret_name, is_worth_redacting};
pub use self::stream::RedactionStream;

/// Values shorter than this are never taken for secrets, in bytes: `1` would be redacted everywhere.
pub const MIN_SECRET_BYTES: usize = 8;

/// A value that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// What stands in its place: `[redacted:NAME]`.
    pub name: String,
    /// The value itself.
    pub value: Vec<u8>,
}

impl Secret {
    /// A value, and the name that stands in its place.
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
    /// Knows no value, only the well-known formats.
    fn default() -> Self {
        static FORMATS_ONLY: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[]));
        FORMATS_ONLY.clone()
    }
}

/// A form of a value, and what it is called.
struct Needle {
    name: Arc<str>,
    form: EncodedForm,
}

struct CompiledPatterns {
    matcher: PrefixMatcher,
    needles: Vec<Needle>,
    /// For each key of the sieve, the needles that begin with it.
    needles_by_key: Vec<Vec<usize>>,
    /// All keys, sorted: those of values and of formats.
    keys: Vec<Vec<u8>>,
}

/// The prefixes of the formats.
struct FormatPrefixes {
    /// Reads past what holds none quickly, and takes long to begin. Building it fails only where the
    /// prefixes have no end, which they have.
    scanning: Option<AhoCorasick>,
    /// The other way round.
    anchored: Option<AhoCorasick>,
    /// Bytes of the longest.
    longest: usize,
    /// For each format, those whose prefix begins its own, itself among them.
    shorter: Vec<Vec<usize>>,
}

/// How far behind a prefix the next one is looked for as if it were near.
const MAX_NEAR_BYTES: usize = 128;

impl FormatPrefixes {
    /// The first prefix from a place on, and whose it is. Where one stood just before, as in output full of
    /// links, the next is seldom far.
    fn find(&self, text: &[u8], from: usize, is_first: bool) -> Option<(usize, usize)> {
        let mut from = from;
        if !is_first {
            let end = text.len().min(from + MAX_NEAR_BYTES + self.longest);
            let hit = self
                .anchored
                .as_ref()?
                .find(Input::new(text).range(from..end));
            // One that begins behind may be cut off.
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

/// What a needle makes of the text that begins at one of its keys.
enum MatchExtent {
    /// It does not stand there.
    NoMatch,
    /// More text decides.
    Undecided,
    /// It stands there.
    Match {
        /// The first byte that is secret, counted from the key.
        from: usize,
        /// The first byte that is not; behind it `on` goes on.
        to: usize,
        /// What else belongs to it, byte by byte.
        continuation: Option<OpenMatch>,
    },
}

impl Redactor {
    /// Looks for these values and for all well-known formats. Values shorter than [`MIN_SECRET_BYTES`] are
    /// passed over.
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

    /// Whether there is anything to redact in a whole text.
    pub fn has_secret(&self, text: &str) -> bool {
        matches!(self.redact_bytes(text.as_bytes()), Cow::Owned(_))
    }

    /// The name of a known value that stands in a whole text, in any form.
    pub fn find_known_value(&self, text: &str) -> Option<String> {
        self.stream().find_known_value(text.as_bytes())
    }

    /// A stream to redact piece by piece.
    pub fn stream(&self) -> RedactionStream {
        RedactionStream::new(Arc::clone(&self.compiled))
    }
}

impl CompiledPatterns {
    fn new(needles: Vec<Needle>) -> Self {
        let mut by_key: BTreeMap<[u8; KEY_BYTES], Vec<usize>> = BTreeMap::new();
        for (index, needle) in needles.iter().enumerate() {
            // A form is no shorter than the value.
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

    /// The first place near the end of a text from which on a key may have begun.
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

/// A name that may stand anywhere: in JSON, in markup, in a log.
fn sanitize_name(name: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let told: String = name.chars().filter(|c| harmless(*c)).take(64).collect();
    if told.is_empty() {
        return "secret".to_owned();
    }
    told
}
